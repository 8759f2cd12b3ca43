package upstream

import (
	"context"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/listen"
	"mcp-all-in-one/internal/upstream/lists"
)

// resubscribe renews the subscriptions on a new connection. Calls do not wait for it,
// because there may be many.
func (l *link) resubscribe(ctx context.Context) {
	modern := l.era == mcp.Modern
	renew := l.slot.subs.Renew(modern)
	if modern {
		return // the listen request names the subscriptions
	}
	l.up.background.Go(func() {
		renew(ctx, func(ctx context.Context, method, uri string) (*jsonrpc.Response, error) {
			resp, err := tell(ctx, l, method, uri)
			switch {
			case err != nil:
				l.up.log.Warn("subscribing again", "uri", uri, "err", err)
			case resp.Err != nil:
				l.up.log.Warn("subscribing again", "uri", uri, "err", resp.Err)
			}
			return resp, err
		})
	})
}

// startListening opens the subscription of a modern connection.
func (l *link) startListening() {
	if l.era != mcp.Modern {
		return
	}
	l.listen = listen.New(l.up.life, listen.Options{
		Peer: l.peer, Params: l.listenParams, Hear: l.HandleNotification, Log: l.up.log,
		Missed: func() { l.refresh.Mark(lists.All) }, Done: l.done, Gone: l.finish,
	})
	l.listen.Start()
}

func (l *link) listenParams() []byte {
	tasks, offer := l.slot.tasks.IDs(), l.offer
	if len(tasks) > 0 {
		offer.Extensions = []byte(`{"` + mcp.TasksExtension + `":{}}`)
	}
	return l.withMeta(listen.Params(l.slot.subs.IDs(), tasks), &Caller{Offer: offer, Era: mcp.Modern})
}

func uriParams(uri string) []byte {
	return jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")
}

// An End undoes a subscription, once. It does so even if the server is away or does not
// answer, because the server would otherwise be subscribed to again when it returns.
type End func(ctx context.Context) (*jsonrpc.Response, error)

// Subscribe subscribes who to updates of a resource until end is called, which is nil
// if that fails. The server hears only of the first and the last subscriber.
func (u *Upstream) Subscribe(ctx context.Context, c *Caller, uri string, who listen.Subscriber) (end End, resp *jsonrpc.Response, err error) {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: mcp.MethodSubscribe})
	if err != nil {
		return nil, nil, err
	}
	defer release()
	s := l.slot
	ask := func(ctx context.Context, method, uri string) (*jsonrpc.Response, error) {
		at := l
		if method == mcp.MethodUnsubscribe {
			if at = s.current(); at == nil {
				return emptyResult(), nil
			}
		}
		return tell(ctx, at, method, uri)
	}
	resp, err = s.subs.Subscribe(ctx, uri, who, ask)
	if err != nil || resp.Err != nil {
		return nil, resp, err
	}
	var ended atomic.Bool
	return func(ctx context.Context) (*jsonrpc.Response, error) {
		if ended.Swap(true) {
			return emptyResult(), nil
		}
		return s.subs.Unsubscribe(ctx, uri, who, ask)
	}, resp, nil
}

// tell tells the server of the first or the last subscriber of a resource.
func tell(ctx context.Context, l *link, method, uri string) (*jsonrpc.Response, error) {
	if l.era == mcp.Modern {
		l.listen.Renew()
		return emptyResult(), nil
	}
	resp, err := withObject(l.ask(ctx, method, uriParams(uri)))
	return resp, l.up.report.Failure(ctx, err, l.whyEnded)
}

func emptyResult() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

// WatchTask subscribes who to the status of a task of a modern server until end is called,
// which is nil if the server cannot send the status.
func (u *Upstream) WatchTask(ctx context.Context, c *Caller, id string, who listen.Subscriber) (end func()) {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: mcp.MethodTasksGet})
	if err != nil {
		return nil
	}
	defer release()
	if l.era != mcp.Modern {
		return nil
	}
	s := l.slot
	if s.tasks.Add(id, who) {
		l.listen.Renew()
	}
	return func() {
		if s.tasks.Remove(id, who) {
			if l := s.current(); l != nil && l.era == mcp.Modern {
				l.listen.Renew()
			}
		}
	}
}

// Listening waits, for a bounded time, until a modern server has acknowledged the
// subscriptions and watched tasks of c.
func (u *Upstream) Listening(ctx context.Context, c *Caller) {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: mcp.MethodListen})
	if err != nil {
		return
	}
	defer release()
	l.listen.AwaitConfirmed(ctx)
}
