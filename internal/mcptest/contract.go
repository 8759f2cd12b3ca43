package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Link is one connection under test, seen from the opening side.
type Link struct {
	// Peer calls the accepting side.
	Peer jsonrpc.Peer
	// Close ends the connection from the opening side.
	Close func()
}

// A Dialer opens a connection whose accepting side uses the handler server.
// Requests of the accepting side go to the handler client if the transport has
// one handler per connection; client is also the Back of every call.
type Dialer func(t *testing.T, client, server jsonrpc.Handler) Link

// deadline limits each step of a test. It is long because a busy machine takes its
// time: Python alone may load the packages of a server for half a minute.
var deadline = 2 * time.Minute

// Patience sets deadline, for slow emulators.
func Patience(d time.Duration) { deadline = d }

// TestTransport tests that a transport fulfils the contract of Peer and
// Handler, which is the same for every transport.
func TestTransport(t *testing.T, dial Dialer) {
	cases := []struct {
		name string
		run  func(*contract)
	}{
		{"call", (*contract).call},
		{"error", (*contract).errors},
		{"absent params", (*contract).absent},
		{"big payload", (*contract).big},
		{"question within a call", (*contract).question},
		{"call within a question", (*contract).nested},
		{"notifications within a call in order", (*contract).pushed},
		{"notifications of the client in order", (*contract).told},
		{"cancel a call", (*contract).cancel},
		{"cancel a question", (*contract).cancelQuestion},
		{"hundred at once", (*contract).concurrent},
		{"close ends what is pending", (*contract).closes},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := &contract{t: t, linked: make(chan struct{}), asked: make(chan string, 1), gone: make(chan string, 2), full: make(chan struct{})}
			var cancel context.CancelFunc
			c.ctx, cancel = context.WithTimeout(t.Context(), deadline)
			defer cancel()
			c.link = dial(t, side{c, "client"}, side{c, "server"})
			close(c.linked)
			defer c.link.Close()
			tc.run(c)
		})
	}
}

// A contract is one test case: a link and the events that both sides recorded.
type contract struct {
	t    testing.TB
	ctx  context.Context
	link Link
	// linked is closed when link is set: handlers may run earlier.
	linked chan struct{}
	asked  chan string // the side that started to wait
	gone   chan string // the side whose wait was cancelled

	mu     sync.Mutex
	heard  []string // by the client
	listed []string // by the server
	full   chan struct{}
}

// A side is the handler of one end.
type side struct {
	c    *contract
	name string
}

// Handle implements jsonrpc.Handler.
func (s side) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	params := append([]byte(nil), req.Params...)
	switch req.Method {
	case mcp.MethodInitialize:
		return &jsonrpc.Response{Result: fmt.Appendf(nil,
			`{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"contract","version":"1"}}`, mcp.LatestLegacy)}, nil
	case "test/echo":
		if params == nil {
			params = []byte(`"absent"`)
		}
		return &jsonrpc.Response{Result: params}, nil
	case "test/fail":
		return &jsonrpc.Response{Err: jsonrpc.Errorf(-32042, "failed on purpose").WithData(map[string]int{"answer": 42})}, nil
	case "test/ask":
		return from.Call(ctx, &jsonrpc.Request{Method: "test/echo", Params: params})
	case "test/ask back":
		return from.Call(ctx, &jsonrpc.Request{Method: "test/through", Params: params})
	case "test/through": // the client gets this request and calls the server again
		<-s.c.linked
		return s.c.link.Peer.Call(ctx, &jsonrpc.Request{Method: "test/echo", Params: params})
	case "test/count":
		return s.count(ctx, from, params)
	case "test/told": // notifications may arrive after the request that follows them
		select {
		case <-s.c.full:
		case <-ctx.Done():
		}
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		return &jsonrpc.Response{Result: encode(s.c.listed)}, nil
	case "test/wait":
		s.c.asked <- s.name
		<-ctx.Done()
		s.c.gone <- s.name
		return nil, context.Cause(ctx)
	case "test/give up":
		return s.giveUp(ctx, from)
	}
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no method %s", req.Method)}, nil
}

// count sends the requested number of notifications, then answers.
func (s side) count(ctx context.Context, from jsonrpc.Peer, params []byte) (*jsonrpc.Response, error) {
	var p struct{ N int }
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	for i := range p.N {
		n := &jsonrpc.Notification{Method: "notifications/test", Params: fmt.Appendf(nil, `{"n":%d}`, i)}
		if err := from.Notify(ctx, n); err != nil {
			return nil, err
		}
	}
	return &jsonrpc.Response{Result: []byte(`{}`)}, nil
}

// giveUp sends the client a request and cancels it while it is being answered.
func (s side) giveUp(ctx context.Context, from jsonrpc.Peer) (*jsonrpc.Response, error) {
	question, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := from.Call(question, &jsonrpc.Request{Method: "test/wait"})
		result <- err
	}()
	<-s.c.asked
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("a question that was taken back ended with %v", err)
	}
	return &jsonrpc.Response{Result: []byte(`{}`)}, nil
}

// HandleNotification implements jsonrpc.Handler.
func (s side) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	if !strings.HasPrefix(n.Method, "notifications/test") {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.name == "client" {
		s.c.heard = append(s.c.heard, string(n.Params))
	} else {
		s.c.listed = append(s.c.listed, string(n.Params))
		if len(s.c.listed) == manyNotifications {
			close(s.c.full)
		}
	}
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
