package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
)

// memoryServers is a config in memory whose servers are always up.
type memoryServers struct {
	mu      sync.Mutex
	entries map[string]map[string]any
	state   map[string]string
	restart map[string]int
	changed func()
}

func newMemoryServers() *memoryServers {
	return &memoryServers{restart: map[string]int{}, state: map[string]string{}, entries: map[string]map[string]any{
		"demo":    {"command": "demo-server", "args": []any{"--all"}, "env": map[string]any{"API_KEY": "s3cret", "MODE": "x"}},
		"corpus":  {"url": "http://127.0.0.1:9/mcp", "headers": map[string]any{"Authorization": "Bearer s3cret"}},
		"prompts": {"command": "prompt-server"},
	}}
}

func (m *memoryServers) Watch(changed func()) { m.changed = changed }

func (m *memoryServers) List() []Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Server
	for name := range m.entries {
		out = append(out, m.serverLocked(name))
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *memoryServers) serverLocked(name string) Server {
	s := Server{Schema: "default", Name: name, State: "up", Transport: "stdio", Protocol: mcp.V2025_11_25, PID: 4121,
		Tools: 11, Resources: 5, Prompts: 2, Restarts: m.restart[name]}
	if m.entries[name]["url"] != nil {
		s.Transport, s.PID = "http", 0
	}
	if state := m.state[name]; state != "" {
		s.State = state
	}
	if m.entries[name]["enabled"] == false {
		s.State = "disabled"
	}
	return s
}

func (m *memoryServers) Detail(_, name string) (ServerDetail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry, ok := m.entries[name]
	if !ok {
		return ServerDetail{}, fmt.Errorf("server %q: %w", name, api.ErrNotFound)
	}
	shown, err := json.Marshal(maskEntry(entry))
	return ServerDetail{Server: m.serverLocked(name), Entry: shown, Source: "mcp.json", Stderr: []string{"listening"},
		Handshake: json.RawMessage(`{"protocolVersion":"2025-11-25","serverInfo":{"name":"demo","version":"1.0.0"},"capabilities":{"tools":{}}}`)}, err
}

func maskEntry(entry map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range entry {
		if values, ok := v.(map[string]any); ok && (k == "env" || k == "headers") {
			hidden := map[string]any{}
			for name := range values {
				hidden[name] = api.Kept
			}
			v = hidden
		}
		out[k] = v
	}
	return out
}

func (m *memoryServers) Save(_ context.Context, _, name string, raw json.RawMessage) error {
	var entry map[string]any
	if err := json.Unmarshal(raw, &entry); err != nil {
		return err
	}
	if entry["command"] == nil && entry["url"] == nil {
		return errors.New("an entry needs a command or a url")
	}
	m.mu.Lock()
	for _, part := range []string{"env", "headers"} {
		values, _ := entry[part].(map[string]any)
		for name, v := range values {
			if old, _ := m.entries[name][part].(map[string]any); v == api.Kept {
				values[name] = old[name]
			}
		}
	}
	m.entries[name] = entry
	m.mu.Unlock()
	m.changed()
	return nil
}

func (m *memoryServers) Remove(_ context.Context, _, name string) (func(context.Context) error, error) {
	m.mu.Lock()
	entry, ok := m.entries[name]
	delete(m.entries, name)
	m.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("server %q: %w", name, api.ErrNotFound)
	}
	m.changed()
	return func(context.Context) error {
		m.mu.Lock()
		m.entries[name] = entry
		m.mu.Unlock()
		m.changed()
		return nil
	}, nil
}

func (m *memoryServers) SetEnabled(_ context.Context, _, name string, on bool) error {
	return m.edit(name, func() { m.entries[name]["enabled"] = on })
}

func (m *memoryServers) Restart(_ context.Context, _, name string) error {
	return m.edit(name, func() { m.restart[name]++ })
}

func (m *memoryServers) Ping(context.Context, string, string) (Pulse, error) {
	return Pulse{Took: time.Millisecond}, nil
}

func (m *memoryServers) SignIn(_ context.Context, _, _ string, _ func(oauth.Step), _ func(error)) (string, error) {
	return "", errors.New("nobody signs in here")
}

func (m *memoryServers) Approve(_ context.Context, _ access.Principal, _, name, _ string) error {
	return m.edit(name, func() { m.state[name] = "up" })
}

func (m *memoryServers) edit(name string, change func()) error {
	m.mu.Lock()
	if m.entries[name] == nil {
		m.mu.Unlock()
		return fmt.Errorf("server %q: %w", name, api.ErrNotFound)
	}
	change()
	m.mu.Unlock()
	m.changed()
	return nil
}

// memoryBench opens sessions to working servers over pipes.
type memoryBench struct {
	record  *traffic.Recorder
	servers map[string]*mcpserver.Server
}

func (b *memoryBench) open(ctx context.Context, _ access.Principal, t *bench.Target, opt probe.Options) (*probe.Session, error) {
	name := t.Server
	if t.Command != "" {
		opt.OnLine("starting " + t.Command)
		name = t.Command
	}
	server := b.servers[name]
	if server == nil {
		return nil, fmt.Errorf("starting %q: no such file", name)
	}
	opt.Protocol = mcp.V2025_11_25
	opt.Record = func(_ *probe.Session, x *probe.Exchange, began time.Time, err error) uint64 {
		call := &traffic.Call{Hop: traffic.HopServer, Client: "bench", Server: name, Method: x.Method, Name: probe.SubjectOf(x.Params), Bench: true}
		o := &traffic.Outcome{Status: traffic.StatusOK, Total: time.Since(began)}
		body := []byte(x.Result)
		switch {
		case err != nil:
			o.Status = traffic.StatusCancelled
		case x.Err != nil:
			o.Status, o.Code, body = traffic.StatusError, x.Err.Code, jsonrpc.AppendError(nil, x.Err)
		}
		id := b.record.Begin(call, x.Params)
		b.record.End(id, o, body)
		return id
	}
	dial := func(context.Context) (jsonrpc.Stream, func(), error) {
		near, far := duplex.Pipe()
		late := &lateHandler{}
		conn := duplex.NewConn(far, duplex.ConnOptions{Handler: late, Strict: true, CancelMethod: mcp.NotificationCancelled})
		late.Session = server.Open(conn)
		return near, func() { late.Close(); conn.Close() }, nil
	}
	return probe.Open(ctx, probe.Target{Name: name, Dial: dial, Secrets: []string{"hush-hush"}}, opt)
}

// lateHandler allows a connection to exist before its handler.
type lateHandler struct{ *mcpserver.Session }

// memorySettings are some settings, and the file that they are in.
type memorySettings struct {
	mu     sync.Mutex
	values map[string]json.RawMessage
}

func (m *memorySettings) List(i18n.Lang) []Setting {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []Setting{
		{Key: "server.port", Value: m.values["server.port"], Default: json.RawMessage("3095"), Source: "file", Restart: true, Doc: "the port"},
		{Key: "startWait", Value: m.values["startWait"], Default: json.RawMessage(`"10s"`), Source: "default", Doc: "how long the first list waits"},
		{Key: "access.key", Value: json.RawMessage(`"***"`), Source: "file", Secret: true, Doc: "the key of clients"},
	}
}

func (m *memorySettings) Set(_ context.Context, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[key] == nil {
		return fmt.Errorf("setting %q: %w", key, api.ErrNotFound)
	}
	m.values[key] = value
	return nil
}

func (m *memorySettings) File() (ConfigFile, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return ConfigFile{Path: "mcp.json", Text: string(m.values["file"]), Mark: string(m.values["file"])}, nil
}

func (m *memorySettings) Replace(_ context.Context, text, mark, confirm string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case mark != string(m.values["file"]):
		return api.ErrChanged
	case strings.Contains(text, "npx") && confirm != "npx":
		return &api.NotConfirmed{Run: "npx"}
	}
	m.values["file"] = json.RawMessage(text)
	return nil
}
