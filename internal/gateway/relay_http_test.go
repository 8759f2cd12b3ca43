package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/wire"
)

// between serves a gateway over HTTP, with lanes, in front of a server over
// HTTP, and returns its URL. What takes no lane is told.
func between(tb testing.TB, server string, opt gateway.Options, long ...func()) (url string, set *upstream.Set) {
	tb.Helper()
	gw, set := inFrontOf(tb, server, nil, opt)
	srv := mcphttp.NewServer(mcphttp.ServerOptions{Open: func(_ context.Context, o *mcphttp.Opening) (mcphttp.Session, error) {
		opening := gateway.Opening{
			Schema: config.DefaultSchema, Session: o.Transport == mcphttp.TransportSession, Client: o.Client, End: o.End,
		}
		if o.Transport == mcphttp.TransportModern {
			opening.Header = o.Header
		}
		return gw.Open(opening)
	}})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	front, served := wire.NewFront(mcphttp.HTTPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, tell := range long {
			tell()
		}
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
	modern  bool
	mu      sync.Mutex
	ran     map[string]int
	arrived sync.Map // of calls that hang, by token: a channel
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments      struct{ Way, Token string }
			RequestState   string
			InputResponses json.RawMessage
		}
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
	if m.modern {
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
	}
	if m.modern != (r.Header.Get("MCP-Protocol-Version") == mcp.V2026_07_28) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"another era"}}`, req.ID)
		return
	}
	switch req.Method {
	case mcp.MethodToolsList:
		result = `{"tools":[{"name":"say","inputSchema":{"type":"object"}}]}`
	case mcp.MethodToolsCall:
		way := req.Params.Arguments.Way
		if way == "ask" && req.Params.RequestState == "state" && len(req.Params.InputResponses) > 0 {
			way = "asked"
		}
		m.call(w, r, req.ID, way, req.Params.Arguments.Token)
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
	case way == "ask" && m.modern:
		answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"state","inputRequests":`+
			`{"q":{"method":"elicitation/create","params":{"mode":"form","message":%q,"requestedSchema":{"type":"object","properties":{}}}}}}}`, id, token)
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
