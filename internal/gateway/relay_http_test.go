package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/wire"
)

// between serves a gateway over HTTP, with lanes, in front of a server over
// HTTP, and returns its URL.
func between(tb testing.TB, server string, opt gateway.Options) (url string, set *upstream.Set) {
	tb.Helper()
	gw, set := inFrontOf(tb, server, nil, opt)
	srv := mcphttp.NewServer(mcphttp.ServerOptions{Open: func(_ context.Context, o *mcphttp.Opening) (mcphttp.Session, error) {
		return gw.Open(gateway.Opening{
			Schema: config.DefaultSchema, Session: o.Transport == mcphttp.TransportSession, Client: o.Client, End: o.End,
		})
	}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	front, served := wire.NewFront(mcphttp.HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		srv.ServeMCP(w, r, mcphttp.Endpoint{}, "")
		if lw, ok := w.(wire.LaneWriter); ok {
			if l := srv.Lane(r, mcphttp.Endpoint{}, ""); l != nil {
				lw.SetLane(l)
			}
		}
	}), mcphttp.ServerLimits{}, nil), ln), make(chan struct{})
	go func() {
		defer close(served)
		_ = front.Serve()
	}()
	tb.Cleanup(func() {
		srv.Close()
		_ = front.Close()
		<-served
	})
	return "http://" + ln.Addr().String() + "/mcp", set
}

// A moody server answers calls as their arguments want it.
type moody struct {
	mu      sync.Mutex
	ran     map[string]int
	arrived sync.Map // of calls that hang, by token: a channel
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ Way, Token string } }
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"moody","version":"1"}}`
	switch req.Method {
	case mcp.MethodToolsList:
		result = `{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`
	case mcp.MethodToolsCall:
		m.call(w, r, req.ID, req.Params.Arguments.Way, req.Params.Arguments.Token)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
}

func (m *moody) call(w http.ResponseWriter, r *http.Request, id []byte, way, token string) {
	m.mu.Lock()
	m.ran[token]++
	times := m.ran[token]
	m.mu.Unlock()
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, token)
	switch {
	case way == "cut":
		panic(http.ErrAbortHandler)
	case way == "later" && times == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case way == "error":
		answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-7,"message":%q}}`, id, token)
	case way == "hang":
		if ch, ok := m.arrived.Load(token); ok {
			close(ch.(chan struct{}))
		}
		<-r.Context().Done()
		return
	case way == "stream":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\ndata: %s\n\n", answer)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, answer)
}

// TestBetweenHTTP has many clients over HTTP call a server over HTTP that does
// what servers do. Each gets its own answer, and nothing runs afterwards.
func TestBetweenHTTP(t *testing.T) {
	server := &moody{ran: map[string]int{}}
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	url, set := between(t, hs.URL, gateway.Options{Traffic: traffic.New(traffic.Options{})})
	wants := map[string]func(token string, resp *jsonrpc.Response, err error) bool{
		"cut": func(_ string, resp *jsonrpc.Response, err error) bool { return err == nil && resp.Err != nil },
		"error": func(token string, resp *jsonrpc.Response, err error) bool {
			return err == nil && resp.Err != nil && resp.Err.Message == token
		},
		"hang": func(_ string, _ *jsonrpc.Response, err error) bool { return errors.Is(err, context.Canceled) },
	}
	ways := []string{"plain", "cut", "plain", "stream", "plain", "error", "plain", "hang", "plain", "plain"}
	var all sync.WaitGroup
	for n := range 4 {
		c := mcphttp.NewClient(mcphttp.ClientOptions{URL: url})
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)})
		if err != nil || resp.Err != nil {
			t.Fatal(err, resp)
		}
		c.SetVersion("2025-11-25")
		for k := range 4 {
			all.Go(func() {
				for i := range 50 {
					way, token := ways[i%len(ways)], fmt.Sprintf("%d-%d-%d", n, k, i)
					if i == 25 {
						way = "later"
					}
					resp, err := server.asked(t.Context(), c, way, token)
					ok := err == nil && resp.Err == nil && strings.Contains(string(resp.Result), `"`+token+`"`)
					if want := wants[way]; want != nil {
						ok = want(token, resp, err)
					}
					if !ok {
						t.Errorf("%s %s: %v, %+v", way, token, err, resp)
					}
					resp.Release()
				}
			})
		}
	}
	all.Wait()
	server.mu.Lock()
	defer server.mu.Unlock()
	for token, times := range server.ran {
		if times != 1 && !(times == 2 && strings.HasSuffix(token, "-25")) {
			t.Errorf("%s ran %d times", token, times)
		}
	}
	u := set.Snapshot().Schema(config.DefaultSchema).Upstream("up")
	look, late := time.NewTicker(time.Millisecond), time.After(10*time.Second)
	defer look.Stop()
	for u.Status().Running > 0 { // those that hung
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%d calls still run", u.Status().Running)
		}
	}
}

// asked makes a call; one that hangs is given up as soon as the server has it.
func (m *moody) asked(ctx context.Context, c *mcphttp.Client, way, token string) (*jsonrpc.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if way == "hang" {
		arrived := make(chan struct{})
		m.arrived.Store(token, arrived)
		go func() {
			<-arrived
			cancel()
		}()
	}
	return c.Call(ctx, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: fmt.Appendf(nil, `{"name":"up__say","arguments":{"way":%q,"token":%q}}`, way, token)})
}
