package use

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// watchFlags are the flags of commands that run until they are interrupted.
type watchFlags struct {
	target.Flags
	count int
	total time.Duration
}

func (f *watchFlags) add(a *env.Env, cmd *cobra.Command) {
	cmd.Flags().IntVarP(&f.count, "count", "n", 0, a.T("end after `N` notifications", "收到 `N` 条通知后结束"))
	cmd.Flags().DurationVar(&f.total, "for", 0, a.T("end after `TIME`", "`TIME` 后结束"))
}

func WatchCommand(a *env.Env) *cobra.Command {
	var f watchFlags
	cmd := target.NewCommand(a, "watch TARGET", a.T("show the notifications of a server as they arrive", "实时显示服务器的通知"), &f.Flags,
		func(cmd *cobra.Command, args []string) error {
			return stay(a, cmd, &f, args, func(*target.Connection, []string) (func(), error) { return nil, nil }, nil)
		})
	f.add(a, cmd)
	return cmd
}

func SubscribeCommand(a *env.Env) *cobra.Command {
	var f watchFlags
	cmd := target.NewCommand(a, "subscribe TARGET URI", a.T("show the changes of a resource as they happen", "订阅资源并实时显示变化"), &f.Flags,
		func(cmd *cobra.Command, args []string) error {
			only := func(method string) bool { return method == mcp.NotificationUpdated }
			return stay(a, cmd, &f, args, func(b *target.Connection, rest []string) (func(), error) {
				if len(rest) == 0 {
					return nil, command.UsageError(a, cmd, a.T("missing: URI", "缺少：URI"))
				}
				stop, err := b.Subscribe(b.Ctx, rest[0])
				if err != nil {
					return nil, err
				}
				return func() { unsubscribe(b, stop) }, nil
			}, only)
		})
	cmd.ValidArgsFunction = target.CompleteTarget(a, &f.Flags, 0, catalog.Resources)
	f.add(a, cmd)
	return cmd
}

// unsubscribe ends a subscription, even after an interrupt.
func unsubscribe(b *target.Connection, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Ctx), probe.Farewell)
	defer cancel()
	if err := stop(ctx); err != nil {
		fmt.Fprintln(b.Env.Stderr, b.Env.Lang.Of(err))
	}
}

// stay prints notifications until an interrupt, a maximum number or a time
// limit.
func stay(a *env.Env, cmd *cobra.Command, f *watchFlags, args []string, begin func(*target.Connection, []string) (func(), error), only func(string) bool) error {
	m, err := target.ParseTarget(a, cmd, &f.Flags, args)
	if err != nil {
		return err
	}
	h := &heard{env: a, only: only, most: f.count, full: make(chan struct{})}
	down := make(chan error, 1)
	b, err := target.Open(cmd.Context(), a, &f.Flags, m, func(o *probe.Options) {
		o.Listen = true
		o.OnNotification = h.notification
		if only == nil || only(mcp.NotificationMessage) {
			o.OnLine = h.line
		}
		o.OnDown = func(err error) { down <- err }
	})
	if err != nil {
		return err
	}
	defer b.End()
	end, err := begin(b, m.Rest)
	if err != nil {
		return target.Failed(a, err, m)
	}
	if end != nil {
		defer end()
	}
	var timer <-chan time.Time
	if f.total > 0 {
		timer = time.After(f.total)
	}
	select {
	case <-h.full:
	case <-timer:
	case <-b.Ctx.Done():
	case err := <-down:
		return target.Failed(a, &probe.StartError{Err: err, Stderr: b.Stderr(5)}, m)
	}
	return nil
}

// heard prints the notifications and stderr lines of a server.
type heard struct {
	env  *env.Env
	only func(string) bool
	most int
	full chan struct{}

	mu    sync.Mutex
	count int
}

func (h *heard) notification(method string, params json.RawMessage) {
	if h.only != nil && !h.only(method) || method == mcp.NotificationListening {
		return
	}
	if h.env.JSON {
		h.print(func() {
			env.WriteLine(h.env.Stdout, map[string]any{"method": method, "params": params, "at": time.Now().UTC()})
		})
		return
	}
	text := string(params)
	if method == mcp.NotificationMessage {
		level, _ := jsonrpc.GetString(params, "level")
		data, ok := jsonrpc.GetString(params, "data")
		if !ok {
			data = string(jsonrpc.Get(params, "data"))
		}
		text = "[" + level + "] " + data
	}
	h.print(func() { fmt.Fprintf(h.env.Stdout, "%s %s %s\n", time.Now().Format("15:04:05.000"), method, text) })
}

func (h *heard) line(text string) {
	if h.env.JSON {
		h.print(func() { env.WriteLine(h.env.Stdout, map[string]any{"stderr": text, "at": time.Now().UTC()}) })
		return
	}
	h.print(func() { fmt.Fprintf(h.env.Stdout, "%s stderr %s\n", time.Now().Format("15:04:05.000"), text) })
}

func (h *heard) print(write func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 0 && h.count >= h.most {
		return
	}
	write()
	if h.count++; h.count == h.most {
		close(h.full)
	}
}
