package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/traffic"
)

const (
	// farewell is how long ending a connection may take.
	farewell = 10 * time.Second
	// patience is how long a server may take to end by itself when its input
	// does: many never do, and a person waits.
	patience = 500 * time.Millisecond
)

// newLauncher starts servers for one command.
func newLauncher() (*stdio.Launcher, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, i18n.Errorf("finding our own program: %w", "查找本程序失败：%w", err)
	}
	return stdio.NewLauncher(stdio.LauncherOptions{Exe: exe, StdinGrace: patience}), nil
}

// end stops a gateway that lived for one command.
func (in *instance) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*patience)
	defer cancel()
	in.close(ctx)
}

// route decides how the target is reached: as it is, or for the merged view
// through a gateway, a running one or one of our own for this call.
func (b *bout) route(opt *probe.Options) error {
	m := b.aim
	if m.cfg != nil && opt.Roots == nil {
		opt.Roots = m.cfg.Roots
	}
	if r := b.reuse(); r != nil {
		b.status = func() (page statusPage, err error) { err = r.get(b.ctx, "/status", &page); return page, err }
		if err := b.sayUnread(); err != nil {
			return err
		}
		if m.server != nil {
			if err := b.serverUp(); err != nil {
				return probeError(b.app, err, m)
			}
		}
		b.through(r, opt)
		return nil
	}
	if !m.merged {
		b.carryTokens()
		return nil
	}
	in, err := newInstance(context.WithoutCancel(b.ctx), instanceOptions{
		cfg: m.cfg, log: quietLog(), name: b.app.personality.name, schema: m.schema, level: new(slog.LevelVar), record: true,
	})
	if err != nil {
		return err
	}
	b.onClose(func() { in.end(b.ctx) })
	b.status = func() (statusPage, error) { return in.statusPage(access.Owner), nil }
	opt.Measure = in.measure(access.Local)
	m.target = probe.Target{Name: ".", Dial: func(context.Context) (jsonrpc.Stream, error) {
		return b.inProcess(in, m.schema, "")
	}}
	return nil
}

// carryTokens lets the tester use what signing in to a configured server gave.
func (b *bout) carryTokens() {
	m := b.aim
	if m.server == nil || m.target.URL == "" || m.target.Header.Get("Authorization") != "" {
		return
	}
	keeper := oauth.NewKeeper(b.ctx, tokenOptions(m.cfg, b.app.home()))
	b.onClose(keeper.Close)
	m.target.Carry = func(base http.RoundTripper) http.RoundTripper { return keeper.Transport(m.server, "", base) }
}

// inProcess makes a session of a gateway in this process.
func (b *bout) inProcess(in *instance, schema, server string) (jsonrpc.Stream, error) {
	ours, theirs := jsonrpc.Pipe()
	s, err := in.openInProcess(theirs, gateway.Opening{Who: access.Local, Via: traffic.DoorCLI, Schema: schema, Server: server})
	if err != nil {
		return nil, err
	}
	b.onClose(s)
	return ours, nil
}

// watch shows and records what goes over the wire.
func (b *bout) watch(opt *probe.Options) error {
	var sinks []func(probe.Frame)
	if b.flags.verbose > 0 {
		sinks = append(sinks, b.showFrame)
	}
	if b.flags.trace != "" {
		file, err := os.OpenFile(b.flags.trace, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fail(exitUsage, codeUsage, "", "%s: %v", b.app.t("recording", "记录"), err)
		}
		w := probe.NewCaptureWriter(file, b.aim.label)
		b.onClose(func() {
			if err := w.Err(); err != nil {
				fmt.Fprintf(b.app.Stderr, "%s: %s\n", b.app.t("recording", "记录"), b.app.lang.Of(err))
			}
			file.Close()
		})
		sinks = append(sinks, w.Write)
	}
	if len(sinks) > 0 {
		opt.OnFrame = func(f probe.Frame) {
			for _, s := range sinks {
				s(f)
			}
		}
	}
	if opt.OnNotification == nil && b.flags.level != "" {
		opt.OnNotification = b.showLog
	}
	return nil
}

var frameMu sync.Mutex

// showFrame prints one message to standard error.
func (b *bout) showFrame(f probe.Frame) {
	frameMu.Lock()
	defer frameMu.Unlock()
	arrow := "←"
	if f.Sent {
		arrow = "→"
	}
	if b.flags.verbose > 1 && f.Header != nil {
		line := f.Method
		if f.Status != 0 {
			line = fmt.Sprintf("HTTP %d", f.Status)
		}
		fmt.Fprintf(b.app.Stderr, "%s %s\n", arrow, line)
		for _, name := range sortedKeys(f.Header) {
			fmt.Fprintf(b.app.Stderr, "%s   %s: %s\n", arrow, name, f.Header.Get(name))
		}
	}
	if len(f.Body) > 0 {
		fmt.Fprintf(b.app.Stderr, "%s %s\n", arrow, f.Body)
	}
}

// showLog prints the server's log to standard error.
func (b *bout) showLog(method string, params json.RawMessage) {
	if method != mcp.NotificationMessage {
		return
	}
	level, _ := jsonrpc.GetString(params, "level")
	data := jsonrpc.Get(params, "data")
	text, ok := jsonrpc.GetString(params, "data")
	if !ok {
		text = string(data)
	}
	fmt.Fprintf(b.app.Stderr, "%s %s\n", b.app.paint(dim, "["+level+"]"), text)
}
