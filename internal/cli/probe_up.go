package cli

import (
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/upstream"
)

// serverUp says why a server of a running gateway cannot be asked: the lists
// of one that is down are empty, which would pass for a server that has
// nothing. One that is starting is waited for, as long as a list would.
func (b *bout) serverUp(r *remote) error {
	end := time.NewTimer(b.aim.cfg.StartWait)
	defer end.Stop()
	tick := time.NewTicker(helloPause)
	defer tick.Stop()
	for {
		var page statusPage
		if err := r.get(b.ctx, "/status", &page); err != nil {
			return err
		}
		rows := page.Schemas[b.aim.schema].Servers
		i := slices.IndexFunc(rows, func(s statusMCPServer) bool { return s.Name == b.aim.server.Name })
		if i < 0 {
			return nil // the gateway itself says that it has no such server
		}
		if rows[i].ToolCount > 0 || !slices.Contains(silentStates, rows[i].Status) {
			return nil
		}
		if rows[i].Status != upstream.Starting || rows[i].Error != "" {
			return b.unavailable(rows[i].Error)
		}
		select {
		case <-tick.C:
		case <-end.C:
			return b.unavailable(b.app.t("it is still starting", "仍在启动"))
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}

// silentStates are those in which a server that never answered shows nothing.
var silentStates = []upstream.State{upstream.Starting, upstream.Failed, upstream.CrashLooping, upstream.Stopped, upstream.Unconfigured}

func (b *bout) unavailable(reason string) error {
	a, name := b.app, b.aim.server.Name
	return &exitError{code: exitUnreachable, id: codeUnreachable, hint: a.again("doctor", name),
		err:     fmt.Errorf("%s: %s", a.t("server "+name+" is not available", "服务 "+name+" 不可用"), reason),
		details: []detail{{a.t("target", "目标"), b.aim.label}}}
}
