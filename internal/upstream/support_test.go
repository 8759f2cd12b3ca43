package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/upstream/servers"
)

// TestMain also runs the helper that starts children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__helper" {
		os.Exit(stdio.RunHelper(context.Background()))
	}
	os.Exit(m.Run())
}

// patience is how long an operation may take on a busy machine.
const patience = 20 * time.Second

// A world is a set of upstreams under test.
type world struct {
	t    testing.TB
	set  *servers.Set
	wait time.Duration // how long a call or a change may take
	mu   sync.Mutex
	bell chan struct{} // closed and replaced at every change
}

type worldOptions struct {
	limits    func(*config.Limits)
	transport http.RoundTripper
	tokens    *oauth.Keeper
	values    *secrets.Values
	pins      *pin.Store
	log       io.Writer // replaces the log of the test
	greeting  *upstream.Greeting
	memory    *memory.Memory
	placer    upstream.Placer
}

func newWorld(t testing.TB, o worldOptions, entries ...*config.Server) *world {
	t.Helper()
	limits := config.DefaultLimits()
	if o.limits != nil {
		o.limits(&limits)
	}
	w := &world{t: t, wait: patience, bell: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	launcher := stdio.NewLauncher(stdio.LauncherOptions{})
	if o.log == nil {
		o.log = t.Output()
	}
	if o.memory == nil {
		o.memory = memory.Open("")
	}
	w.set = servers.NewSet(ctx, upstream.Options{
		Launcher: launcher, Transport: o.transport, Tokens: o.tokens, Values: o.values, Pins: o.pins, Limits: &limits,
		Log:    slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Info:   []byte(`{"name":"test","version":"1"}`),
		Roots:  func() []config.Root { return nil },
		Memory: o.memory, Greeting: o.greeting, Placer: o.placer, OnChange: func(*upstream.Upstream) { w.ring() },
	})
	schema := config.NewSchema("default")
	schema.Enabled, schema.Servers = true, entries
	w.set.Apply(&config.Config{Schemas: []*config.Schema{schema}, Limits: limits}, nil)
	t.Cleanup(func() {
		w.set.Close(ctx)
		launcher.Close()
		cancel()
	})
	return w
}

func (w *world) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.bell)
	w.bell = make(chan struct{})
}

func (w *world) up(name string) *upstream.Upstream {
	return w.set.Snapshot().Schema("default").Upstream(name)
}

// await waits until the status is as wanted. It checks at every change.
func (w *world) await(what, name string, wanted func(upstream.Status) bool) upstream.Status {
	w.t.Helper()
	late := time.NewTimer(w.wait)
	defer late.Stop()
	for {
		w.mu.Lock()
		bell := w.bell
		w.mu.Unlock()
		s := w.up(name).Status()
		if wanted(s) {
			return s
		}
		select {
		case <-bell:
		case <-late.C:
			w.t.Fatalf("%s is not %s: %s (%s)", name, what, s.State, s.Reason)
		}
	}
}

func (w *world) state(name string, state upstream.State) upstream.Status {
	w.t.Helper()
	return w.await(string(state), name, func(s upstream.Status) bool { return s.State == state })
}

// fake returns the configuration of the fake server.
func fake(t *testing.T, name string, args ...string) *config.Server {
	s := config.NewServer(name)
	s.Schema, s.Type, s.Command, s.Args = "default", config.TypeStdio, mcptest.Build(t), args
	return s
}

// remote returns the configuration of a server at a URL.
func remote(name, url string) *config.Server {
	s := config.NewServer(name)
	s.Schema, s.Type, s.URL = "default", config.TypeHTTP, url
	return s
}

func legacyCaller() *upstream.Caller {
	return &upstream.Caller{Session: "1", Version: mcp.LatestLegacy}
}

// call calls a tool and returns its text, or the reason of the error.
func (w *world) call(name, tool, arguments string) (text, reason string) {
	return w.callAs(w.t.Context(), legacyCaller(), name, tool, arguments)
}

func (w *world) callAs(ctx context.Context, c *upstream.Caller, name, tool, arguments string) (text, reason string) {
	ctx, cancel := context.WithTimeout(ctx, 2*w.wait)
	defer cancel()
	resp, err := w.up(name).Call(ctx, c, &jsonrpc.Request{
		Method: mcp.MethodToolsCall, Params: fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments),
	})
	if err != nil {
		return "", reasonOf(err)
	}
	if resp.Err != nil {
		return "", reasonOf(resp.Err)
	}
	defer resp.Release()
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(resp.Result, &result); err != nil || len(result.Content) == 0 {
		return string(resp.Result), ""
	}
	return result.Content[0].Text, ""
}

// reasonOf returns data.reason of an error of the gateway, otherwise its code.
func reasonOf(err error) string {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return "not a wire error: " + err.Error()
	}
	if reason, ok := jsonrpc.GetString(wire.Data, "reason"); ok {
		return reason
	}
	return fmt.Sprint(wire.Code)
}

func (w *world) echo(name, message string) {
	w.t.Helper()
	if text, reason := w.call(name, "echo", fmt.Sprintf(`{"message":%q}`, message)); text != message {
		w.t.Errorf("echo on %s: %q, %s", name, text, reason)
	}
}
