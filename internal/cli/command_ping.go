package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/mcp"
)

func pingCommand(a *app) *cobra.Command {
	var f probeFlags
	var count int
	var every time.Duration
	cmd := probeCommand(a, "ping TARGET", a.t("see whether a server answers, and how fast", "检测服务是否响应及其速度"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := parseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			return once(cmd.Context(), a, &f, m, func(b *bout) error { return pingServer(b, count, every) })
		})
	cmd.Flags().IntVarP(&count, "count", "n", 1, a.t("how `MANY` times (1)", "次数 `MANY`（1）"))
	cmd.Flags().DurationVar(&every, "interval", time.Second, a.t("`TIME` between two (1s)", "间隔 `TIME`（1s）"))
	return cmd
}

// pingServer asks for a sign of life: ping in the legacy era, server/discover in the
// modern one, which has no ping.
func pingServer(b *bout, count int, every time.Duration) error {
	method := mcp.MethodPing
	if b.Info().Era == mcp.Modern {
		method = mcp.MethodDiscover
	}
	for i := range count {
		if i > 0 {
			select {
			case <-time.After(every):
			case <-b.ctx.Done():
				return nil
			}
		}
		var params json.RawMessage
		x, err := b.send(method, params)
		if err != nil {
			return err
		}
		if err := answered(b.app, x, b.aim); err != nil {
			return err
		}
		if b.app.asJSON {
			writeLine(b.app.Stdout, map[string]any{"method": method, "ms": asMs(x.Timing.Total)})
			continue
		}
		fmt.Fprintf(b.app.Stdout, "%s %s ms\n", b.app.t("answered in", "响应时间"), milliseconds(x.Timing.Total))
	}
	return nil
}
