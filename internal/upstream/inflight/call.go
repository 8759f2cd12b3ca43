// Package inflight holds the calls in flight. It decides which call a message of
// a server belongs to, and ends calls that take too long.
package inflight

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
)

// A Client is the client on whose behalf a server is called. It must be
// comparable.
type Client interface {
	// Offers returns what the client offers.
	Offers() *mcp.Offer
}

// A Call is one request that a server is working on. It handles the questions
// that the server asks because of the call, if the transport can tell.
type Call struct {
	Client Client
	// Who is the principal of the client.
	Who string
	// Remote is the client on another replica that the call is for; empty for
	// none.
	Remote string
	// Idle is how long the call may be idle; 0 means without limit.
	Idle time.Duration
	// Back receives the server's questions and notifications; it may be nil.
	Back jsonrpc.Handler
	Sent jsonrpc.Request // the request as sent to the server

	table  *Table
	peer   jsonrpc.Peer
	awaits string // the id of the task whose result it waits for; empty for none
	// A plain call is aborted by its id on the connection. All other calls have
	// their own context and cancel.
	id      atomic.Uint64
	aborted atomic.Pointer[error]
	cancel  context.CancelCauseFunc

	prev, next *Call // in the table

	token    uint64 // our token, sent to the server; 0 if the client wants no progress
	original []byte // the client's token
	progress progress

	active    atomic.Int64 // time of the last message about this call, in Ticks
	started   int64
	overdue   int64        // when it was aborted for a limit; guarded by Table.mu
	questions atomic.Int32 // open questions to the client
	asks      bool         // the server may ask because of it
	task      bool         // it became a task, which keeps the token; guarded by Table.mu
	abandoned bool         // its client waits for the answer no longer
	answered  bool         // the answer came nevertheless; guarded by Table.mu
	open      openQuestions
}

var errCallOver = i18n.Errorf("the call that asked has ended", "发起询问的调用已结束")

// An aborter can end a call by its id.
type aborter interface {
	Abort(id uint64, err error)
}

// Began is called with the id of the call on its connection. A call that is sent
// again has a new id, and may have been aborted in between.
func (k *Call) Began(id uint64) {
	k.id.Store(id)
	if err := k.aborted.Load(); err != nil {
		k.abortID(id, *err)
	}
}

func (k *Call) abort(err error) {
	if k.cancel != nil {
		k.cancel(err)
		return
	}
	k.aborted.Store(&err)
	k.abortID(k.id.Load(), err)
}

func (k *Call) abortID(id uint64, err error) {
	if conn, ok := k.peer.(aborter); ok {
		conn.Abort(id, err)
	}
}

// Allows reports whether the client can be asked this question.
func (k *Call) Allows(req *jsonrpc.Request) bool {
	return k.Back != nil && k.Client.Offers().Allows(req.Method, req.Params)
}

// Handle answers a question that the server asked on the stream of this call.
func (k *Call) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if resp, ok := k.table.conn.Answer(req); ok {
		return resp, nil
	}
	k.table.server.Asked.Add(1)
	if !k.Client.Offers().Allows(req.Method, req.Params) {
		k.table.conn.NotOffered()
		return k.Unanswered(ctx, req), nil
	}
	return k.Ask(ctx, from, req)
}

// Ask passes a question of this call on to the client. The idle clock of the call
// stops meanwhile.
func (k *Call) Ask(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return k.ask(ctx, from, req, k)
}

// AskForAny passes on a question that the transport does not tie to a call. It
// may be about any call of the client in flight.
func (k *Call) AskForAny(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return k.ask(ctx, from, req, k.table.ofClient(k)...)
}

func (k *Call) ask(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request, about ...*Call) (*jsonrpc.Response, error) {
	if k.Back == nil {
		return mcp.Refuse(req), nil
	}
	ctx, stop := wait(ctx, about...)
	defer stop()
	for _, other := range about {
		other.questions.Add(1)
	}
	defer func() {
		for _, other := range about {
			other.touch()
			other.questions.Add(-1)
		}
	}()
	return k.Back.Handle(ctx, from, req)
}

// HandleNotification handles a notification on the stream of this call.
func (k *Call) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	k.touch()
	switch n.Method {
	case mcp.NotificationProgress:
		if token := jsonrpc.Get(n.Params, "progressToken"); !k.isToken(token) {
			// A task reports progress on the stream of another call.
			if other := k.table.WithToken(token); other != nil {
				other.HandleNotification(ctx, from, n)
			} else {
				k.table.server.Count("progress for no call")
			}
			return
		}
		n = &jsonrpc.Notification{Method: n.Method, Params: jsonrpc.Set(n.Params, k.original, "progressToken")}
		k.progress.report(n, k.table.server.Flow.Allow(), func(n *jsonrpc.Notification) { k.Back.HandleNotification(ctx, from, n) })
		return
	case mcp.NotificationTools, mcp.NotificationPrompts, mcp.NotificationResources, mcp.NotificationUpdated:
		k.table.conn.HandleNotification(ctx, from, n)
		return
	}
	if k.Back != nil && k.table.server.Passes() {
		k.Back.HandleNotification(ctx, from, n)
	}
}

// FinishProgress passes on the progress that was held back. No progress follows.
func (k *Call) FinishProgress() {
	if k.token == 0 {
		return
	}
	k.progress.finish(func(n *jsonrpc.Notification) { k.Back.HandleNotification(context.Background(), k.peer, n) })
}

func (k *Call) touch() { k.active.Store(Ticks()) }

func (k *Call) isToken(raw []byte) bool {
	n, ok := jsonrpc.OwnNumber(raw)
	return ok && n == k.token && n != 0
}

// expired returns the limit that the call has exceeded, or nil.
func (k *Call) expired(now int64, hard time.Duration) error {
	if hard > 0 && time.Duration(now-k.started) > hard {
		return failure.ErrLong
	}
	if k.questions.Load() == 0 && k.Idle > 0 && time.Duration(now-k.active.Load()) > k.Idle {
		return failure.ErrIdle
	}
	return nil
}

// Unanswered handles a question of this call that no client can answer.
func (k *Call) Unanswered(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	return k.unanswered(ctx, req, mcp.Refuse(req), k)
}

// UnansweredForAny is like Unanswered for a question that may be about any call
// of the client in flight.
func (k *Call) UnansweredForAny(ctx context.Context, req *jsonrpc.Request, refusal *jsonrpc.Response) *jsonrpc.Response {
	return k.unanswered(ctx, req, refusal, k.table.ofClient(k)...)
}

func (k *Call) unanswered(ctx context.Context, req *jsonrpc.Request, refusal *jsonrpc.Response, about ...*Call) *jsonrpc.Response {
	ctx, stop := wait(ctx, about...)
	defer stop()
	return k.table.conn.Unanswered(ctx, req, refusal)
}
