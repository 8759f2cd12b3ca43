package jsonrpc

import (
	"context"
	"testing"
	"testing/synctest"
)

// funcs is a Handler made of functions.
type funcs struct {
	handle func(ctx context.Context, from Peer, req *Request) (*Response, error)
	notify func(ctx context.Context, from Peer, n *Notification)
}

func (f funcs) Handle(ctx context.Context, from Peer, req *Request) (*Response, error) {
	return f.handle(ctx, from, req)
}

func (f funcs) HandleNotification(ctx context.Context, from Peer, n *Notification) {
	if f.notify != nil {
		f.notify(ctx, from, n)
	}
}

// echo answers with the params.
var echo = funcs{handle: func(_ context.Context, _ Peer, req *Request) (*Response, error) {
	return &Response{Result: append([]byte(nil), req.Params...)}, nil
}}

const cancelled = "notifications/cancelled"

// pair connects a caller with an accepting side that has the given handler.
func pair(t testing.TB, client, server Handler) (*Conn, *Conn) {
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

func TestConnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, nil, echo)
		resp, err := c.Call(t.Context(), &Request{Method: "ping", Params: []byte(`{"a":1}`)})
		if err != nil || string(resp.Result) != `{"a":1}` {
			t.Fatalf("got %v, %v", resp, err)
		}
		resp.Release()
	})
}
