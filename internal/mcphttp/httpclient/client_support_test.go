package httpclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

// noLeaks fails the test when goroutines are left after all of its clean-up.
func noLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// serve runs a real HTTP server and returns a client for it.
func serve(t *testing.T, opt ClientOptions, h http.HandlerFunc) *Client {
	t.Helper()
	noLeaks(t)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	opt.URL = srv.URL + "/mcp"
	c := NewClient(opt)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// memory is a listener without a network, for tests with fake time.
type memory struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{} }

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.done:
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveMemory is serve within a synctest bubble. down makes the server vanish.
func serveMemory(t *testing.T, opt ClientOptions, h http.HandlerFunc) (c *Client, down func()) {
	t.Helper()
	m := &memory{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	go func() { _ = srv.Serve(m) }()
	tr := &http.Transport{DialContext: m.dial}
	opt.URL, opt.Transport = "http://memory/mcp", tr
	c = NewClient(opt)
	t.Cleanup(func() {
		_ = c.Close(t.Context())
		tr.CloseIdleConnections()
		_ = srv.Close()
	})
	return c, func() { _ = m.Close() }
}

// received is one message as the server saw it.
type received struct {
	HTTP   string
	Header http.Header
	jsonrpc.Message
}

func receive(r *http.Request) received {
	body, _ := io.ReadAll(r.Body)
	msg, _ := jsonrpc.ScanAnswer(bytes.Clone(body), nil)
	return received{HTTP: r.Method, Header: r.Header, Message: msg}
}

func answerJSON(w http.ResponseWriter, id []byte, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// events makes w an event stream and returns a function that sends one event.
func events(w http.ResponseWriter) func(format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	return func(format string, args ...any) {
		fmt.Fprintf(w, format+"\n\n", args...)
		_ = flush.Flush()
	}
}

// heard is a handler that records notifications and answers with a function.
type heard struct {
	notes  chan string
	answer func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error)
}

func newHeard() *heard { return &heard{notes: make(chan string, 1000)} }

func (h *heard) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return h.answer(ctx, req)
}

func (h *heard) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	h.notes <- n.Method + string(n.Params)
}

// next receives from ch, or fails the test.
func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	return must.Receive(t, "a value", ch)
}

func call(t *testing.T, c *Client, method, params string) *jsonrpc.Response {
	t.Helper()
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: method, Params: raw})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return resp
}
