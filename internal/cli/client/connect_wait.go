package client

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/web"
)

// clientWait is the default time to wait for a client to start.
const clientWait = 30 * time.Second

// awaitClient saves the client's file, waits for the client to connect, and
// reports whether it did. The file stays changed in any case.
func awaitClient(ctx context.Context, a *env.Env, c *clients.Client, f clients.ConnectFlags, save func() error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	begin := func() error {
		if err := save(); err != nil {
			return err
		}
		fmt.Fprintln(a.Stderr, a.T(fmt.Sprintf("waiting up to %v for it to come (^C ends the waiting only)", f.Wait),
			fmt.Sprintf("等待其连接，最长 %v（^C 只结束等待）", f.Wait)))
		return nil
	}
	await := instance.AwaitArrival
	if f.URL != "" {
		await = awaitSession
	}
	who, came, err := await(ctx, begin)
	switch {
	case err != nil:
		return err
	case came:
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("it came: ", "客户端已连接："), strings.TrimSpace(who.Name+" "+who.Version))
	default:
		fmt.Fprintln(a.Stderr, a.T("no client has come yet; "+c.Name+" will when it reads its file again", "尚无客户端连接；"+c.Name+" 重新读取配置后会连接"))
	}
	return nil
}

// awaitSession waits for a new session at a running gateway of this user.
func awaitSession(ctx context.Context, begin func() error) (instance.Arrival, bool, error) {
	start := time.Now()
	if err := begin(); err != nil {
		return instance.Arrival{}, false, err
	}
	return instance.Poll(ctx, func() (instance.Arrival, bool) {
		for _, r := range control.Gateways(ctx) {
			var list []web.Client
			if r.Get(ctx, "/api/v1/clients", &list) != nil {
				continue
			}
			for _, c := range list {
				if c.Since.After(start) && c.Name != "" {
					return instance.Arrival{Name: c.Name, Version: c.Version}, true
				}
			}
		}
		return instance.Arrival{}, false
	})
}
