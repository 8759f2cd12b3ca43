package tasks

import (
	"context"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Back names the tasks in what a server says and asks while it works.
type Back struct {
	jsonrpc.Handler
	// Rename gives tasks the ids that the client knows, Notify does so in a
	// notification.
	Rename func(message []byte) []byte
	Notify func(*jsonrpc.Notification) *jsonrpc.Notification
	// Outside hears what follows once the call has become a task.
	Outside jsonrpc.Handler

	outlived atomic.Bool
}

// Outlive says that the call has become a task: it was answered, so what follows
// cannot travel on its stream.
func (b *Back) Outlive() { b.outlived.Store(true) }

// Handle passes a question of the server on.
func (b *Back) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if params := b.Rename(req.Params); len(params) != len(req.Params) {
		req = &jsonrpc.Request{Method: req.Method, Params: params, Back: req.Back}
	}
	return b.Handler.Handle(ctx, from, req)
}

// HandleNotification passes on what the server says.
func (b *Back) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if b.outlived.Load() {
		b.Outside.HandleNotification(ctx, from, n)
		return
	}
	b.Handler.HandleNotification(ctx, from, b.Notify(n))
}
