package tasks

import (
	"context"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Back translates the task ids in the messages that a server sends during a
// call.
type Back struct {
	jsonrpc.Handler
	// Rename replaces task ids by the ids that the client knows; Notify does
	// the same in a notification.
	Rename func(message []byte) []byte
	Notify func(*jsonrpc.Notification) *jsonrpc.Notification
	// Outside gets the notifications after the call has become a task.
	Outside jsonrpc.Handler

	outlived atomic.Bool
}

// Outlive marks the call as a task. The call has been answered, so later
// messages cannot use its stream.
func (b *Back) Outlive() { b.outlived.Store(true) }

// Handle passes a request of the server on.
func (b *Back) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if params := b.Rename(req.Params); len(params) != len(req.Params) {
		req = &jsonrpc.Request{Method: req.Method, Params: params, Back: req.Back}
	}
	return b.Handler.Handle(ctx, from, req)
}

// HandleNotification passes a notification of the server on.
func (b *Back) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if b.outlived.Load() {
		b.Outside.HandleNotification(ctx, from, n)
		return
	}
	b.Handler.HandleNotification(ctx, from, b.Notify(n))
}
