package httpclient

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// maxAsking is how many requests of the server on one stream are handled at once.
// Above it, the client stops reading that stream.
const maxAsking = 64

// inbound holds the server's requests that are being handled, so that the server
// can cancel them.
type inbound struct {
	mu      sync.Mutex
	cancels map[string]context.CancelCauseFunc
}

func (in *inbound) add(id []byte, cancel context.CancelCauseFunc) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cancels == nil {
		in.cancels = map[string]context.CancelCauseFunc{}
	}
	in.cancels[string(id)] = cancel
}

func (in *inbound) remove(id []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.cancels, string(id))
}

func (in *inbound) cancel(id []byte) bool {
	in.mu.Lock()
	cancel := in.cancels[string(id)]
	in.mu.Unlock()
	if cancel != nil {
		cancel(jsonrpc.ErrCancelled)
	}
	return cancel != nil
}

// An inbox handles the server's messages on one stream.
type inbox struct {
	c       *Client
	handler jsonrpc.Handler
	slots   chan struct{}
}

// newInbox returns an inbox for handler, or for the client's own handler if that is
// nil.
func (c *Client) newInbox(handler jsonrpc.Handler) *inbox {
	if handler == nil {
		handler = c.opt.Handler
	}
	return &inbox{c: c, handler: handler}
}

// take handles one message: notifications in order, each request in its own
// goroutine.
func (in *inbox) take(ctx context.Context, msg *jsonrpc.Message) {
	switch msg.Kind {
	case jsonrpc.KindNotification:
		if msg.Method == mcp.NotificationCancelled && in.c.asked.cancel(jsonrpc.Get(msg.Params, "requestId")) {
			return
		}
		if in.handler != nil {
			in.tell(ctx, &jsonrpc.Notification{Method: msg.Method, Params: msg.Params})
		}
	case jsonrpc.KindRequest:
		if in.c.opt.Modern {
			in.c.opt.Log.Warn("request from a modern server dropped", "method", msg.Method)
			return
		}
		in.ask(ctx, msg)
	default:
		in.c.opt.Log.Debug("message without a request dropped", "id", string(msg.ID))
	}
}

func (in *inbox) ask(ctx context.Context, msg *jsonrpc.Message) {
	if in.slots == nil {
		in.slots = make(chan struct{}, maxAsking)
	}
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	id := bytes.Clone(msg.ID)
	req := &jsonrpc.Request{Method: msg.Method, Params: bytes.Clone(msg.Params)}
	if !in.c.flights.spawn(ctx, func(ctx context.Context) { in.answer(ctx, id, req); <-in.slots }) {
		<-in.slots
	}
}

func (in *inbox) answer(ctx context.Context, id []byte, req *jsonrpc.Request) {
	running, cancel := context.WithCancelCause(ctx)
	in.c.asked.add(id, cancel)
	resp := in.handle(running, req)
	in.c.asked.remove(id)
	takenBack := running.Err() != nil
	cancel(nil)
	if takenBack {
		return
	}
	err := in.c.server.deliver(ctx, in.c.server.state.Load().header, jsonrpc.AppendResponse(nil, id, resp))
	resp.Release()
	if err != nil {
		in.c.opt.Log.Warn("answer to the server not delivered", "method", req.Method, "err", err)
	}
}

func (in *inbox) handle(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	if in.handler == nil {
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", req.Method)}
	}
	resp, err := in.safely(ctx, req)
	if err == nil {
		return resp
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) {
		answer = jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
	}
	return &jsonrpc.Response{Err: answer}
}

// safely runs the handler for a request and recovers a panic.
func (in *inbox) safely(ctx context.Context, req *jsonrpc.Request) (resp *jsonrpc.Response, err error) {
	defer in.caught(req.Method, func() { err = jsonrpc.Errorf(jsonrpc.CodeInternal, "Internal error") })
	return in.handler.Handle(ctx, in.c, req)
}

// tell runs the handler for a notification and recovers a panic.
func (in *inbox) tell(ctx context.Context, n *jsonrpc.Notification) {
	defer in.caught(n.Method, func() {})
	in.handler.HandleNotification(ctx, in.c, n)
}

// caught must be deferred. It recovers and logs a panic, and calls then.
func (in *inbox) caught(method string, then func()) {
	if p := recover(); p != nil {
		in.c.opt.Log.Error("handler panicked", "method", method, "err", p, "stack", string(debug.Stack()))
		then()
	}
}
