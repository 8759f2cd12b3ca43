package use

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
)

func PingCommand(a *env.Env) *cobra.Command {
	var f target.Flags
	var count int
	var every time.Duration
	cmd := target.NewOnce(a, "ping TARGET", a.T("check whether a server answers, and how fast", "检测服务器是否响应及其速度"), &f,
		func(b *target.Connection, _ []string) error { return pingServer(b, count, every) })
	cmd.Flags().IntVarP(&count, "count", "n", 1, a.T("ping `N` times (1)", "次数 `N`（1）"))
	cmd.Flags().DurationVar(&every, "interval", time.Second, a.T("`TIME` between two pings (1s)", "间隔 `TIME`（1s）"))
	return cmd
}

// pingServer checks that the server responds: with ping in the legacy era, with
// server/discover in the modern era, which has no ping.
func pingServer(b *target.Connection, count int, every time.Duration) error {
	method := mcp.MethodPing
	if b.Info().Era == mcp.Modern {
		method = mcp.MethodDiscover
	}
	for i := range count {
		if i > 0 {
			select {
			case <-time.After(every):
			case <-b.Ctx.Done():
				return nil
			}
		}
		x, err := b.Ask(method, nil)
		if err != nil {
			return err
		}
		if b.Env.JSON {
			env.WriteLine(b.Env.Stdout, map[string]any{"method": method, "ms": asMs(x.Timing.Total)})
			continue
		}
		fmt.Fprintf(b.Env.Stdout, "%s %s ms\n", b.Env.T("answered in", "响应时间"), output.Milliseconds(x.Timing.Total))
	}
	return nil
}
