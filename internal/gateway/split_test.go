package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/servers"
)

// TestTimeAddsUp checks that the parts of a call's time add up on both hops,
// over pipes and over HTTP.
func TestTimeAddsUp(t *testing.T) {
	const thinks, sends = 40 * time.Millisecond, 30 * time.Millisecond
	web := config.NewServer("web")
	web.Type, web.URL = config.TypeHTTP, slowServer(t, thinks, sends)
	pipe := config.NewServer("pipe")
	pipe.Type, pipe.Command, pipe.Args = config.TypeStdio, mcptest.BuildProduct(t), []string{"demo"}
	record := traffic.New(traffic.Options{})
	s := inFrontOfAll(t, record, web, pipe)

	t.Run("true/8 over HTTP", func(t *testing.T) {
		root, below := timed(t, s, record, `{"name":"web__echo","arguments":{}}`)
		// One round trip of the server's time counts as transport. On a busy
		// machine the first byte is seen some time after it arrived.
		if below.ServerTime <= 0 || below.Transport < sends/2 || below.ServerTime+below.Transport < thinks+sends {
			t.Errorf("server %v of %v, transport %v of %v", below.ServerTime, thinks, below.Transport, sends)
		}
		if root.ServerTime != below.ServerTime || root.Transport != below.Transport {
			t.Errorf("the client's hop has server %v and transport %v, the server's %v and %v", root.ServerTime, root.Transport, below.ServerTime, below.Transport)
		}
	})
	t.Run("true/8 over a pipe", func(t *testing.T) {
		_, below := timed(t, s, record, `{"name":"pipe__long_task","arguments":{"seconds":0.05,"steps":1}}`)
		// On a busy machine the server begins before the write returns.
		if below.ServerTime <= 0 || below.Transport <= 0 || below.ServerTime+below.Transport < 50*time.Millisecond {
			t.Errorf("server %v, transport %v", below.ServerTime, below.Transport)
		}
	})
	t.Run("true/8 answered by the gateway", func(t *testing.T) {
		if _, err := s.Handle(t.Context(), nil, &jsonrpc.Request{Method: mcp.MethodToolsList}); err != nil {
			t.Fatal(err)
		}
		calls, _ := record.List(nil, 0, 1)
		if calls[0].Gateway != calls[0].Total || calls[0].Total <= 0 {
			t.Errorf("%+v", calls[0])
		}
	})
}

// timed makes a call, compares the sums of both hops with their totals, and
// returns the hops.
func timed(t *testing.T, s *gateway.Session, record *traffic.Recorder, params string) (root, below *traffic.Call) {
	t.Helper()
	resp, err := s.Handle(t.Context(), nil, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(params)})
	if err != nil || resp.Err != nil {
		t.Fatalf("calling: %v, %+v", err, resp)
	}
	resp.Release()
	calls, _ := record.List(nil, 0, 2)
	for i := range calls {
		c := &calls[i]
		if c.Gateway+c.Transport+c.ServerTime != c.Total {
			t.Errorf("%s hop: %v + %v + %v is not %v", c.Hop, c.Gateway, c.Transport, c.ServerTime, c.Total)
		}
		if c.Hop == traffic.HopClient {
			root = c
		} else {
			below = c
		}
	}
	if root == nil || below == nil || root.Gateway <= 0 {
		t.Fatalf("recorded %+v", calls)
	}
	return root, below
}

// slowServer waits before it answers a call, and sends its response slowly.
func slowServer(t *testing.T, thinks, sends time.Duration) (url string) {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"hello"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var msg struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(body, &msg)
		result, ok := results[msg.Method]
		if msg.ID == nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, msg.ID, result)
		if !ok {
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, msg.ID)
		}
		w.Header().Set("Content-Type", "application/json")
		if msg.Method != "tools/call" {
			_, _ = io.WriteString(w, answer)
			return
		}
		pass(r.Context(), thinks)
		_, _ = io.WriteString(w, answer[:20])
		_ = http.NewResponseController(w).Flush()
		pass(r.Context(), sends)
		_, _ = io.WriteString(w, answer[20:])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// pass waits; the test needs a server that takes time.
func pass(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

func inFrontOfAll(t *testing.T, record *traffic.Recorder, entries ...*config.Server) *gateway.Session {
	t.Helper()
	schema := config.NewSchema(config.DefaultSchema)
	for _, s := range entries {
		s.Schema = config.DefaultSchema
		schema.Servers = append(schema.Servers, s)
	}
	cfg := &config.Config{Schemas: []*config.Schema{schema}, Limits: config.DefaultLimits(), Compat: "auto"}
	log := slog.New(slog.DiscardHandler)
	launcher := stdio.NewLauncher(stdio.LauncherOptions{Exe: mcptest.BuildProduct(t)})
	set := servers.NewSet(t.Context(), upstream.Options{
		Launcher: launcher, Log: log, Limits: &cfg.Limits, Info: []byte(`{"name":"test","version":"1"}`),
		Roots: func() []config.Root { return nil }, Memory: memory.Open(filepath.Join(t.TempDir(), "servers.json")),
	})
	gw := gateway.New(gateway.Options{Set: set, Log: log, Info: mcp.Implementation{Name: "test", Version: "1"}, Traffic: record})
	set.Apply(cfg, nil)
	t.Cleanup(func() {
		gw.Close()
		set.Close(context.WithoutCancel(t.Context()))
		launcher.Close()
	})
	s, err := gw.Open(gateway.Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Session: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
