package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/record"
	"mcp-all-in-one/internal/traffic"
)

// Route decides how the target is reached: directly, or for the merged view
// through a running gateway or a gateway in this process.
func (b *Connection) Route(opt *probe.Options) error {
	m := b.To
	if m.cfg != nil && opt.Roots == nil {
		opt.Roots = m.cfg.Roots
	}
	if r := b.reuse(); r != nil {
		b.running = r
		b.status = func() (page control.StatusPage, err error) { err = r.Get(b.Ctx, "/status", &page); return page, err }
		if err := b.sayUnread(); err != nil {
			return err
		}
		if m.Server != nil {
			if err := b.serverUp(); err != nil {
				return Failed(b.Env, err, m)
			}
		}
		b.through(r, opt)
		return nil
	}
	if !m.merged && !m.hosted && !m.scripts() {
		b.carryTokens()
		return nil
	}
	cfg := m.cfg
	if m.hosted {
		cfg = m.onlyServer()
	}
	in, err := instance.New(context.WithoutCancel(b.Ctx), instance.Options{
		Config: cfg, Log: QuietLog(), Name: b.Env.Personality.Name, Schema: m.schema, Level: new(slog.LevelVar), Record: true,
	})
	if err != nil {
		return err
	}
	b.OnClose(func() { in.End(b.Ctx) })
	b.status = func() (control.StatusPage, error) { return in.StatusPage(access.Owner), nil }
	opt.Measure = in.Measure(access.Local)
	server := ""
	if m.scripts() {
		server = m.Server.Name
	}
	m.Probe = InProcess(in, ".", m.schema, server)
	return nil
}

// carryTokens makes the tester use the tokens of a configured server that the
// user signed in to.
func (b *Connection) carryTokens() {
	m := b.To
	if m.Server == nil || m.Probe.URL == "" || m.Probe.Header.Get("Authorization") != "" {
		return
	}
	where, err := instance.TokenOptions(m.cfg, b.Env.Home())
	if err != nil {
		return // the gateway would not start either
	}
	keeper := oauth.NewKeeper(b.Ctx, where)
	b.OnClose(keeper.Close)
	m.Probe.Carry = func(base http.RoundTripper) http.RoundTripper { return keeper.Transport(m.Server, "", base) }
}

// InProcess returns a server of a gateway in this process as a target, or all
// servers of a schema if server is empty.
func InProcess(in *instance.Instance, name, schema, server string) probe.Target {
	return in.Target(name, gateway.Opening{Who: access.Local, Via: traffic.DoorCLI, Schema: schema, Server: server})
}

// Watch shows and records the wire messages.
func (b *Connection) Watch(opt *probe.Options) error {
	var sinks []func(probe.Frame)
	if b.Flags.verbose > 0 {
		sinks = append(sinks, b.ShowFrame)
	}
	if b.Flags.Trace != "" {
		file, err := os.OpenFile(b.Flags.Trace, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s: %v", b.Env.T("recording", "记录"), err)
		}
		w := record.NewCaptureWriter(file, b.To.Label)
		b.OnClose(func() {
			if err := errors.Join(w.Err(), file.Close()); err != nil {
				env.Lose(b.Env, i18n.Errorf("recording: %w", "记录失败：%w", err))
			}
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
	if opt.OnNotification == nil && b.Flags.Level != "" {
		opt.OnNotification = b.showLog
	}
	return nil
}

var frameMu sync.Mutex

// ShowFrame prints one message to stderr.
func (b *Connection) ShowFrame(f probe.Frame) {
	frameMu.Lock()
	defer frameMu.Unlock()
	arrow := "←"
	if f.Sent {
		arrow = "→"
	}
	if b.Flags.verbose > 1 && f.Header != nil {
		line := f.Method
		if f.Status != 0 {
			line = fmt.Sprintf("HTTP %d", f.Status)
		}
		fmt.Fprintf(b.Env.Stderr, "%s %s\n", arrow, line)
		for _, name := range env.SortedKeys(f.Header) {
			fmt.Fprintf(b.Env.Stderr, "%s   %s: %s\n", arrow, name, f.Header.Get(name))
		}
	}
	if len(f.Body) > 0 {
		fmt.Fprintf(b.Env.Stderr, "%s %s\n", arrow, f.Body)
	}
}

// showLog prints the server's log to stderr.
func (b *Connection) showLog(method string, params json.RawMessage) {
	if method != mcp.NotificationMessage {
		return
	}
	level, _ := jsonrpc.GetString(params, "level")
	data := jsonrpc.Get(params, "data")
	text, ok := jsonrpc.GetString(params, "data")
	if !ok {
		text = string(data)
	}
	fmt.Fprintf(b.Env.Stderr, "%s %s\n", b.Env.Paint(env.Dim, "["+level+"]"), text)
}
