package duplex

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// funcs is a Handler made of functions.
type funcs struct {
	handle func(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error)
	notify func(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification)
}

func (f funcs) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return f.handle(ctx, from, req)
}

func (f funcs) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if f.notify != nil {
		f.notify(ctx, from, n)
	}
}

// echo answers with the params.
var echo = funcs{handle: func(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: append([]byte(nil), req.Params...)}, nil
}}

func done(result string) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte(result)}, nil
}

const cancelled = "notifications/cancelled"

// drops records the messages that a Conn drops.
type drops struct {
	mu      sync.Mutex
	reasons []string
}

func (d *drops) add(reason string, head []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reasons = append(d.reasons, reason)
}

func (d *drops) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.reasons, "; ")
}

// pair connects a caller with an accepting side.
func pair(t testing.TB, client, server jsonrpc.Handler) (*Conn, *Conn) {
	t.Helper()
	a, b := Pipe()
	asking := NewConn(a, ConnOptions{Handler: client, CancelMethod: cancelled, Uncancellable: "initialize"})
	answering := NewConn(b, ConnOptions{Handler: server, Strict: true, CancelMethod: cancelled, Uncancellable: "initialize"})
	t.Cleanup(func() {
		asking.Close()
		answering.Close()
	})
	return asking, answering
}

// raw returns an accepting Conn whose peer is the test itself.
func raw(t testing.TB, opt ConnOptions) (jsonrpc.Stream, *Conn) {
	t.Helper()
	a, b := Pipe()
	opt.CancelMethod, opt.Uncancellable = cancelled, "initialize"
	c := NewConn(b, opt)
	t.Cleanup(func() {
		a.Close()
		c.Close()
	})
	return a, c
}

func send(t testing.TB, s jsonrpc.Stream, messages ...string) {
	t.Helper()
	for _, m := range messages {
		must.OK(t, s.Write([]byte(m)))
	}
}

// next returns the next message of a stream.
func next(t testing.TB, s jsonrpc.Stream) string {
	t.Helper()
	msg, release, err := s.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	return string(msg)
}

func expect(t testing.TB, s jsonrpc.Stream, want string) {
	t.Helper()
	if got := next(t, s); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}
