package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to say"`
}

// sdkServer is a server of the official SDK that sends everything a server can send
// during a call.
func sdkServer() *sdk.Server { return sdkServerWith(make(chan struct{}, 1)) }

// sdkServerWith has a tool that hangs; hung is signalled when the tool starts and
// when it is cancelled.
func sdkServerWith(hung chan struct{}) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "peer", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in echoArgs) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, in echoArgs) (*sdk.CallToolResult, any, error) {
		for i := range 3 {
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i + 1)})
			if err != nil {
				return nil, nil, err
			}
		}
		answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: in.Text})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer.Action}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "hang"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ echoArgs) (*sdk.CallToolResult, any, error) {
		hung <- struct{}{}
		<-ctx.Done()
		hung <- struct{}{}
		return nil, nil, ctx.Err()
	})
	return s
}

const initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`

// handshake opens a legacy session over any peer.
func handshake(t *testing.T, p jsonrpc.Peer, settle func(version string)) {
	t.Helper()
	resp, err := p.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(initializeParams)})
	if err != nil || resp.Err != nil {
		t.Fatalf("initialize: %v %v", resp, err)
	}
	version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
	settle(version)
	must.OK(t, p.Notify(t.Context(), &jsonrpc.Notification{Method: mcp.NotificationInitialized}))
}

func callTool(t *testing.T, p jsonrpc.Peer, name, text, meta string, back jsonrpc.Handler) string {
	t.Helper()
	params := fmt.Appendf(nil, `{"name":%q,"arguments":{"text":%q}%s}`, name, text, meta)
	resp, err := p.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: params, Back: back})
	if err != nil || resp.Err != nil {
		t.Fatalf("%s: %+v %v", name, resp, err)
	}
	defer resp.Release()
	for item := range jsonrpc.Elements(jsonrpc.Get(resp.Result, "content")) {
		got, _ := jsonrpc.GetString(item, "text")
		return got
	}
	t.Fatalf("%s: no content in %s", name, resp.Result)
	return ""
}

func accepting() *heard {
	h := newHeard()
	h.answer = func(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) {
		return jsonrpc.NewResponse([]byte(`{"action":"accept","content":{}}`), nil), nil
	}
	return h
}

func sdkClient(t *testing.T, opt ClientOptions, served *sdk.StreamableHTTPOptions, s *sdk.Server) *Client {
	t.Helper()
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, served)
	return serve(t, opt, h.ServeHTTP)
}

func TestClientAgainstSDK(t *testing.T) {
	for _, json := range []bool{false, true} {
		t.Run(fmt.Sprintf("stateful/json=%v", json), func(t *testing.T) {
			s := sdkServer()
			h := newHeard()
			c := sdkClient(t, ClientOptions{Handler: h}, &sdk.StreamableHTTPOptions{JSONResponse: json}, s)
			handshake(t, c, c.SetVersion)
			if c.SessionID() == "" {
				t.Error("no session id")
			}
			c.OpenStream(t.Context())
			c.AwaitStream(t.Context(), 10*time.Second) // the SDK sends nothing before the stream is open
			if got := callTool(t, c, "echo", "hällo", "", nil); got != "hällo" {
				t.Errorf("echo %q", got)
			}
			sdk.AddTool(s, &sdk.Tool{Name: "late"}, func(context.Context, *sdk.CallToolRequest, echoArgs) (*sdk.CallToolResult, any, error) {
				return nil, nil, nil
			})
			if got := next(t, h.notes); !strings.HasPrefix(got, mcp.NotificationTools) {
				t.Errorf("heard %s on the stream", got)
			}
			if json {
				return // the SDK cannot send requests in this mode
			}
			back := accepting()
			if got := callTool(t, c, "ask", "ok?", `,"_meta":{"progressToken":"p"}`, back); got != "accept" {
				t.Errorf("ask %q", got)
			}
			for i := range 3 {
				if got, want := next(t, back.notes), fmt.Sprintf(`"progress":%d`, i+1); !strings.Contains(got, want) {
					t.Errorf("notification %s, want %s", got, want)
				}
			}
		})
	}
	t.Run("cancel reaches the tool", func(t *testing.T) {
		hung := make(chan struct{})
		c := sdkClient(t, ClientOptions{}, nil, sdkServerWith(hung))
		handshake(t, c, c.SetVersion)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"hang","arguments":{"text":""}}`)})
			done <- err
		}()
		next(t, hung)
		cancel()
		if err := next(t, done); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		next(t, hung)
	})
	t.Run("forgotten session", func(t *testing.T) {
		c := sdkClient(t, ClientOptions{}, nil, sdkServer())
		handshake(t, c, c.SetVersion)
		own := c.SessionID()
		c.server.setState("unknown", mcp.V2025_11_25)
		defer c.server.setState(own, mcp.V2025_11_25) // for the DELETE
		_, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodPing})
		var status *StatusError
		if !errors.As(err, &status) || status.Status != 404 || status.Modern {
			t.Errorf("got %v", err)
		}
	})
	t.Run("modern", func(t *testing.T) {
		c := sdkClient(t, ClientOptions{Modern: true}, &sdk.StreamableHTTPOptions{Stateless: true}, sdkServer())
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
		found := call(t, c, mcp.MethodDiscover, "{"+meta+"}")
		if v := jsonrpc.Get(found.Result, "supportedVersions"); !strings.Contains(string(v), mcp.V2026_07_28) {
			t.Errorf("discovered %s %v", found.Result, found.Err)
		}
		if got := callTool(t, c, "echo", "plain", ","+meta, nil); got != "plain" {
			t.Errorf("echo %q", got)
		}
		resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "no/such", Params: []byte("{" + meta + "}")})
		var status *StatusError
		if !errors.As(err, &status) || !status.Modern || resp == nil || resp.Err.Code != jsonrpc.CodeMethodNotFound {
			t.Errorf("unknown method: %+v, %v", resp, err)
		}
	})
}

func TestSSEAgainstSDK(t *testing.T) {
	noLeaks(t)
	s := sdkServer()
	srv := httptest.NewServer(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(srv.Close)
	stream, err := DialSSE(t.Context(), ClientOptions{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	conn := duplex.NewConn(stream, duplex.ConnOptions{Handler: accepting(), CancelMethod: mcp.NotificationCancelled})
	defer conn.Close()
	handshake(t, conn, func(string) {})
	if got := callTool(t, conn, "echo", "over SSE", "", nil); got != "over SSE" {
		t.Errorf("echo %q", got)
	}
	if got := callTool(t, conn, "ask", "ok?", `,"_meta":{"progressToken":"p"}`, nil); got != "accept" {
		t.Errorf("ask %q", got)
	}
}
