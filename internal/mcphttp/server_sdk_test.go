package mcphttp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// sdkClient is a client of the official SDK that answers requests.
func sdkClient(progress chan<- float64, changed chan<- struct{}) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "sdk", Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "decline"}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} },
	})
}

func TestOfficialClient(t *testing.T) {
	for _, tc := range []struct {
		name, version string
		sse           bool
	}{
		{"streamable " + mcp.V2025_03_26, mcp.V2025_03_26, false},
		{"streamable " + mcp.V2025_06_18, mcp.V2025_06_18, false},
		{"streamable " + mcp.V2025_11_25, mcp.V2025_11_25, false},
		{"modern", mcp.V2026_07_28, false},
		{"SSE", mcp.V2024_11_05, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, mcphttp.ServerLimits{})
			hc := &http.Client{Transport: w.tr}
			var transport sdk.Transport = &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: hc}
			if tc.sse {
				transport = &sdk.SSEClientTransport{Endpoint: strings.TrimSuffix(w.url, "/mcp") + "/sse", HTTPClient: hc}
			}
			progress, changed := make(chan float64, 10), make(chan struct{}, 10)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cs, err := sdkClient(progress, changed).Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: tc.version})
			if err != nil {
				t.Fatal(err)
			}
			exercise(ctx, t, w, cs, tc.version, progress, changed)
			if err := cs.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			must.Await(t, "all sessions closed", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.closed == len(w.openings)
			})
		})
	}
}

func exercise(ctx context.Context, t *testing.T, w *world, cs *sdk.ClientSession, version string, progress <-chan float64, changed <-chan struct{}) {
	t.Helper()
	modern := version == mcp.V2026_07_28
	if tools, err := cs.ListTools(ctx, nil); err != nil || len(tools.Tools) != 1 {
		t.Fatalf("ListTools: %v, %v", tools, err)
	}
	say := func(tool, word string, n int) string {
		t.Helper()
		res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"text": word, "n": n}})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		return res.Content[0].(*sdk.TextContent).Text
	}
	if got := say("echo", "héllo", 0); got != "héllo" {
		t.Errorf("echo: %q", got)
	}
	say("notify", "tok", 3)
	for i := range 3 {
		if got := take(t, progress); got != float64(i) {
			t.Errorf("progress %v, want %d", got, i)
		}
	}
	if got := say("ask", "what?", 0); modern != strings.Contains(got, "cannot be asked") || modern == strings.Contains(got, "decline") {
		t.Errorf("ask: %q", got)
	}
	if len(say("big", "", 500_000)) != 500_000 {
		t.Error("a large result was cut")
	}
	if !modern {
		if err := w.opening(-1).Client.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationTools}); err != nil {
			t.Error(err)
		}
		take(t, changed)
	}
	short, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() {
		_, err := cs.CallTool(short, &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"text": "x"}})
		failed <- err
	}()
	take(t, w.started)
	cancel()
	if err := take(t, w.ended); err == nil {
		t.Error("the call was not cancelled")
	}
	if err := take(t, failed); err == nil {
		t.Error("a cancelled call succeeded")
	}
}

// bare is a Session that passes every message to a handler.
type bare struct{ jsonrpc.Handler }

func (bare) Version() string { return mcp.V2025_11_25 }
func (bare) Close()          {}

func TestServerKeepsTheContract(t *testing.T) {
	mcptest.TestTransport(t, func(t *testing.T, client, server jsonrpc.Handler) mcptest.Link {
		w := newWorld(t, mcphttp.ServerLimits{InFlight: 200})
		w.handler = bare{server}
		c := httpclient.NewClient(httpclient.ClientOptions{URL: w.url, Handler: client})
		if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		c.SetVersion(mcp.V2025_11_25)
		return mcptest.Link{Peer: c, Close: func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = c.Close(ctx)
		}}
	})
}
