package cli

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/mcp"
)

func PingCommand(a *Env) *cobra.Command {
	var f Flags
	var count int
	var every time.Duration
	cmd := NewCommand(a, "ping TARGET", a.T("see whether a server answers, and how fast", "检测服务是否响应及其速度"), &f,
		func(cmd *cobra.Command, args []string) error {
			m, err := ParseTarget(a, cmd, &f, args)
			if err != nil {
				return err
			}
			return Once(cmd.Context(), a, &f, m, func(b *Connection) error { return pingServer(b, count, every) })
		})
	cmd.Flags().IntVarP(&count, "count", "n", 1, a.T("how `MANY` times (1)", "次数 `MANY`（1）"))
	cmd.Flags().DurationVar(&every, "interval", time.Second, a.T("`TIME` between two (1s)", "间隔 `TIME`（1s）"))
	return cmd
}

// pingServer asks for a sign of life: ping in the legacy era, server/discover in the
// modern one, which has no ping.
func pingServer(b *Connection, count int, every time.Duration) error {
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
		var params json.RawMessage
		x, err := b.Send(method, params)
		if err != nil {
			return err
		}
		if err := Answered(b.Env, x, b.To); err != nil {
			return err
		}
		if b.Env.JSON {
			WriteLine(b.Env.Stdout, map[string]any{"method": method, "ms": asMs(x.Timing.Total)})
			continue
		}
		fmt.Fprintf(b.Env.Stdout, "%s %s ms\n", b.Env.T("answered in", "响应时间"), Milliseconds(x.Timing.Total))
	}
	return nil
}
