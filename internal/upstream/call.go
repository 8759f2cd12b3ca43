package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/failure"
)

// A call is one request that a server is working on. It answers what the
// server asks because of it, where the transport can tell.
type call struct {
	link   *link
	caller *Caller
	client string // the client of another replica that it is for; empty for none
	back   jsonrpc.Handler
	asks   bool            // the server may ask because of it
	awaits string          // the task whose result it waits for; empty for none
	sent   jsonrpc.Request // what the server is sent
	// A plain call is aborted by its id on the connection; all others have a
	// context of their own.
	conn    aborter
	id      atomic.Uint64
	aborted atomic.Pointer[error]
	cancel  context.CancelCauseFunc

	prev, next *call // in link.calls

	token    uint64 // ours, on the wire; 0 when the client wants no progress
	task     bool   // it became a task, which keeps the token; guarded by link.mu
	original []byte // the client's token
	progress progress

	active    atomic.Int64 // unix nanoseconds of the last message about this call
	started   int64
	overdue   int64        // when it was ended for its silence; guarded by link.mu
	questions atomic.Int32 // open questions to the client
	open      openQuestions
	idle      time.Duration
}

var errCallOver = i18n.Errorf("the call that asked has ended", "发起询问的调用已结束")

// An aborter can end a call by its id.
type aborter interface {
	Abort(id uint64, err error)
}

// Began hears the id that the call has on its connection. A call that is sent
// once more has another one, and may have been aborted in between.
func (k *call) Began(id uint64) {
	k.id.Store(id)
	if err := k.aborted.Load(); err != nil && k.conn != nil {
		k.conn.Abort(id, *err)
	}
}

func (k *call) abort(err error) {
	if k.cancel != nil {
		k.cancel(err)
		return
	}
	k.aborted.Store(&err)
	k.conn.Abort(k.id.Load(), err)
}

// Handle answers a question that the server asked on the stream of this call.
func (k *call) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if resp, ok := k.link.answer(req); ok {
		return resp, nil
	}
	if !k.caller.Offer.Allows(req.Method, req.Params) {
		if !k.link.slot.exact {
			k.link.up.noteAsks(k.link)
		}
		return k.unanswered(ctx, req), nil
	}
	return k.ask(ctx, from, req)
}

// ask passes a question on to the client. The clock of the call stands still
// meanwhile.
func (k *call) ask(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if k.back == nil {
		return mcp.Refuse(req), nil
	}
	ctx, stop := k.open.during(ctx)
	defer stop()
	k.questions.Add(1)
	defer func() {
		k.touch()
		k.questions.Add(-1)
	}()
	return k.back.Handle(ctx, from, req)
}

// HandleNotification hears what the server says on the stream of this call.
func (k *call) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	k.touch()
	switch n.Method {
	case mcp.NotificationProgress:
		if token := jsonrpc.Get(n.Params, "progressToken"); !k.isToken(token) {
			// A task reports on the stream of another call.
			if other := k.link.withToken(token); other != nil {
				other.HandleNotification(ctx, from, n)
			} else {
				k.link.up.count("progress for no call")
			}
			return
		}
		n = &jsonrpc.Notification{Method: n.Method, Params: jsonrpc.Set(n.Params, k.original, "progressToken")}
		k.progress.report(n, k.link.up.flow.allow(), func(n *jsonrpc.Notification) { k.back.HandleNotification(ctx, from, n) })
		return
	case mcp.NotificationMessage:
		k.link.up.logged(n.Params)
	case mcp.NotificationTools, mcp.NotificationPrompts, mcp.NotificationResources, mcp.NotificationUpdated:
		k.link.HandleNotification(ctx, from, n)
		return
	}
	if k.back != nil && k.link.up.passes() {
		k.back.HandleNotification(ctx, from, n)
	}
}

// finishProgress passes on what was held back of the progress: nothing follows.
func (k *call) finishProgress() {
	k.progress.finish(func(n *jsonrpc.Notification) { k.back.HandleNotification(context.Background(), k.link.peer, n) })
}

// passes says whether one more notification may reach a client now.
func (u *Upstream) passes() bool {
	if u.flow.allow() {
		return true
	}
	u.count("notification over the rate")
	return false
}

func (k *call) touch() { k.active.Store(ticks()) }

func (k *call) isToken(raw []byte) bool {
	n, ok := parseToken(raw)
	return ok && n == k.token && n != 0
}

// expired says why the call has to end now, nil while it may go on.
func (k *call) expired(now int64, hard time.Duration) error {
	if hard > 0 && time.Duration(now-k.started) > hard {
		return failure.ErrLong
	}
	if k.questions.Load() == 0 && k.idle > 0 && time.Duration(now-k.active.Load()) > k.idle {
		return failure.ErrIdle
	}
	return nil
}

// unanswered deals with a question that no client can be asked: a person may
// answer it, else it is refused.
func (u *Upstream) unanswered(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	if u.opt.Person != nil {
		if resp := u.opt.Person(ctx, u.name, req); resp != nil {
			return resp
		}
	}
	return mcp.Refuse(req)
}

// unanswered is the same for a question of a call, which ends with it.
func (k *call) unanswered(ctx context.Context, req *jsonrpc.Request) *jsonrpc.Response {
	ctx, stop := k.open.during(ctx)
	defer stop()
	return k.link.up.unanswered(ctx, req)
}
