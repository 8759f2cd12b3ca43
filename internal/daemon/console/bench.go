package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
	"mcp-all-in-one/internal/web/inbox"
)

// consoleBench opens the tester sessions of the console, with the same tester
// as the command line.
type consoleBench struct{ in *instance.Instance }

// Open connects a principal to the target that the page names.
func (c *consoleBench) Open(ctx context.Context, who access.Principal, t *bench.Target, hooks *bench.Hooks) (bench.Session, error) {
	x := &benchSession{label: t.Server}
	opt := probe.Options{
		Protocol: t.Protocol, Info: mcp.Implementation{Name: t.ClientName, Version: t.ClientVersion},
		Offer: c.offer(t), Roots: t.Roots, Listen: true,
		Answer: probe.AnswerFunc(func(ctx context.Context, q *probe.Question) (json.RawMessage, error) {
			return x.ask(ctx, hooks, q)
		}),
		OnNotification: hooks.Notification, OnLine: hooks.Line, OnDown: hooks.Down,
		OnFrame: func(f probe.Frame) {
			if f.Sent && hooks.Sent != nil {
				hooks.Sent(f.Body)
			}
		},
	}
	if opt.Info.Name != "" && opt.Info.Version == "" {
		opt.Info.Version = mcp.ProductVersion
	}
	if err := c.connect(ctx, who, t, x, opt); err != nil {
		return nil, err
	}
	return x, nil
}

// connect opens the session of x. Calls that bypass the gateway are recorded
// here; the gateway records the others.
func (c *consoleBench) connect(ctx context.Context, who access.Principal, t *bench.Target, x *benchSession, opt probe.Options) error {
	target, err := c.target(who, t, x)
	if err != nil {
		return err
	}
	opt.Launcher, opt.MaxMessage, opt.Log = c.in.Launcher, c.in.Config.Limits.ServerMessage, c.in.Log
	opt.Handshake = c.in.Config.Limits.Handshake
	past := &direct{in: c.in, who: who, target: t}
	if t.Via == bench.ViaGateway {
		opt.Measure = c.in.Measure(who)
	} else {
		opt.Record = past.record
	}
	began := time.Now()
	x.session, err = probe.Open(ctx, target, opt)
	if t.Via != bench.ViaGateway {
		past.opened(began, err)
	}
	if err != nil {
		x.end()
	}
	return err
}

// target returns the target that the page names: a configured server, this
// gateway, or any other server.
func (c *consoleBench) target(who access.Principal, t *bench.Target, x *benchSession) (probe.Target, error) {
	schema := cmp.Or(t.Schema, config.DefaultSchema)
	snapshot := c.in.Set.Snapshot()
	if s := snapshot.Config.Schema(schema); s != nil && s.Server(t.Server) != nil && s.Server(t.Server).Type == config.TypeScripts {
		t.Via = bench.ViaGateway // only the gateway can run scripts
	}
	switch {
	case t.Via == bench.ViaGateway:
		return probe.Target{Name: schema, Dial: func(context.Context) (jsonrpc.Stream, error) {
			ours, theirs := duplex.Pipe()
			end, err := c.in.OpenInProcess(theirs, gateway.Opening{Who: who, Via: traffic.DoorConsole, Schema: schema, Server: t.Server})
			if err != nil {
				return nil, err
			}
			x.onEnd(end)
			return ours, nil
		}}, nil
	case t.Server != "":
		s := snapshot.Config.Schema(schema)
		if s == nil || s.Server(t.Server) == nil || !who.MaySee(schema, t.Server, "") {
			return probe.Target{}, i18n.Errorf("server %q: %w", "服务器 %q：%w", t.Server, api.ErrNotFound)
		}
		server := s.Server(t.Server)
		switch {
		case server.Pending:
			return probe.Target{}, i18n.Errorf("server %q has not been approved", "服务器 %q 尚未批准", t.Server)
		case len(server.Missing) > 0:
			return probe.Target{}, i18n.Errorf("server %q uses variables that are not set: %v", "服务器 %q 使用了未定义的变量：%v", t.Server, server.Missing)
		}
		return probe.TargetOf(server, os.Environ()), nil
	case t.Command != "":
		env, _ := stdio.Environ(os.Environ(), t.Command, stdio.Inherit{}, t.Env)
		target := probe.Target{Name: t.Command, Command: t.Command, Args: t.Args, Env: env, Cwd: t.Cwd}
		for _, v := range t.Env {
			target.Secrets = append(target.Secrets, v)
		}
		return target, nil
	case t.URL != "":
		target := probe.Target{Name: t.URL, URL: t.URL, Type: t.Type, Header: make(http.Header)}
		for k, v := range t.Headers {
			target.Header.Set(k, v)
			target.Secrets = append(target.Secrets, v)
		}
		return target, nil
	}
	return probe.Target{}, i18n.Errorf("nothing to connect to was named", "没有指定要连接的目标")
}

// offer returns the client capabilities that the page offers to servers, or
// those of the imitated client.
func (c *consoleBench) offer(t *bench.Target) *mcp.Offer {
	if t.As != "" {
		for _, client := range c.in.Gateway.Clients() {
			if client.Session == t.As {
				offer := client.Offer
				return &offer
			}
		}
	}
	if t.Offer == nil {
		return nil
	}
	var o mcp.Offer
	for _, name := range t.Offer {
		o.Add(name) // the page offers only names that there are
	}
	return &o
}

// A benchSession is one connection of the console's tester.
type benchSession struct {
	session *probe.Session
	label   string

	mu   sync.Mutex
	ends []func()
}

func (x *benchSession) onEnd(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ends = append(x.ends, f)
}

func (x *benchSession) end() {
	x.mu.Lock()
	ends := x.ends
	x.ends = nil
	x.mu.Unlock()
	for _, f := range ends {
		f()
	}
}

// Info returns the results of the handshake.
func (x *benchSession) Info() bench.Info {
	i := x.session.Info()
	return bench.Info{Protocol: i.Version, Era: i.Era.String(), Transport: i.Transport, Handshake: i.Handshake,
		Capabilities: i.Capabilities, PID: i.PID, Session: i.SessionID}
}

// Call sends one request. The page sets the limits of the call.
func (x *benchSession) Call(ctx context.Context, method string, params json.RawMessage) (*bench.Exchange, error) {
	began := time.Now()
	e, err := x.session.Call(ctx, method, params, probe.CallOptions{})
	if e == nil {
		return nil, err
	}
	if err != nil {
		return &bench.Exchange{Wire: webFrames(e.Wire, began)}, err
	}
	out := &bench.Exchange{Result: e.Result, Total: e.Timing.Total, Gateway: e.Timing.Gateway, Transport: e.Timing.Transport, ServerTime: e.Timing.Server, TrafficID: e.Record}
	if e.Err != nil {
		out.Result, out.Error = nil, jsonrpc.AppendError(nil, e.Err)
	}
	out.Wire = webFrames(e.Wire, began)
	return out, nil
}

// Wire returns all frames so far.
func (x *benchSession) Wire() []history.WireFrame {
	frames := x.session.Frames()
	if len(frames) == 0 {
		return nil
	}
	return webFrames(frames, frames[0].At)
}

func webFrames(frames []probe.Frame, began time.Time) []history.WireFrame {
	out := make([]history.WireFrame, len(frames))
	for i, f := range frames {
		out[i] = history.WireFrame{Sent: f.Sent, At: f.At.Sub(began), Status: f.Status, Body: string(f.Body)}
		if len(f.Header) > 0 {
			out[i].Header = make(map[string]string, len(f.Header))
			for name := range f.Header {
				out[i].Header[name] = f.Header.Get(name)
			}
		}
	}
	return out
}

// Notify sends a notification.
func (x *benchSession) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return x.session.Notify(ctx, method, params)
}

// SetRoots changes the roots and notifies the server.
func (x *benchSession) SetRoots(ctx context.Context, roots []config.Root) error {
	return x.session.SetRoots(ctx, roots)
}

// Redact replaces the secrets of the target.
func (x *benchSession) Redact(raw []byte) []byte { return x.session.Redact(raw) }

// Close ends the connection.
func (x *benchSession) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), instance.Farewell)
	defer cancel()
	x.session.Close(ctx)
	x.end()
	return nil
}

// ask asks the person at the page a question.
func (x *benchSession) ask(ctx context.Context, hooks *bench.Hooks, q *probe.Question) (json.RawMessage, error) {
	answer, err := hooks.Ask(ctx, inbox.Question{Kind: q.Kind(), Server: x.label, Tool: q.Name, Params: q.Params})
	if err != nil {
		return nil, err
	}
	switch {
	case q.Method == mcp.MethodElicit && answer.Action == "accept" && len(answer.Content) > 0:
		return jsonrpc.Set([]byte(`{"action":"accept"}`), answer.Content, "content"), nil
	case q.Method == mcp.MethodElicit:
		return fmt.Appendf(nil, `{"action":%s}`, jsonrpc.Quote(answer.Action)), nil
	case answer.Action != "accept":
		return nil, jsonrpc.Errorf(-1, "User rejected the %s request", q.Kind())
	}
	return answer.Content, nil
}
