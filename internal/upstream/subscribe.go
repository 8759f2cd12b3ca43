package upstream

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/listen"
	"mcp-all-in-one/internal/upstream/lists"
)

// resubscribe renews the subscriptions on a new connection.
func (l *link) resubscribe(ctx context.Context) {
	if l.era == mcp.Modern {
		return // the listen request names the subscriptions
	}
	for _, uri := range l.slot.subs.IDs() {
		if _, err := l.ask(ctx, mcp.MethodSubscribe, uriParams(uri)); err != nil {
			l.up.log.Warn("subscribing again", "uri", uri, "err", err)
		}
	}
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

// Subscribe subscribes who to updates of a resource.
func (u *Upstream) Subscribe(ctx context.Context, c *Caller, uri string, who listen.Subscriber) (*jsonrpc.Response, error) {
	return u.subscribe(ctx, c, uri, who, mcp.MethodSubscribe, (*listen.Subscriptions).Add)
}

// Unsubscribe undoes Subscribe.
func (u *Upstream) Unsubscribe(ctx context.Context, c *Caller, uri string, who listen.Subscriber) (*jsonrpc.Response, error) {
	return u.subscribe(ctx, c, uri, who, mcp.MethodUnsubscribe, (*listen.Subscriptions).Remove)
}

// subscribe adds or removes a subscriber. It tells the server only about the first and the
// last subscriber of a resource.
func (u *Upstream) subscribe(ctx context.Context, c *Caller, uri string, who listen.Subscriber, method string, change func(*listen.Subscriptions, string, listen.Subscriber) bool) (*jsonrpc.Response, error) {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: method})
	if err != nil {
		return nil, err
	}
	defer release()
	if !change(&l.slot.subs, uri, who) {
		return emptyResult(), nil
	}
	if l.era == mcp.Modern {
		l.listen.Renew()
		return emptyResult(), nil
	}
	resp, err := withObject(l.ask(ctx, method, uriParams(uri)))
	if method == mcp.MethodSubscribe && (err != nil || resp.Err != nil) {
		l.slot.subs.Remove(uri, who)
	}
	return resp, u.report.Failure(ctx, err, l.whyEnded)
}

func emptyResult() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

// WatchTask subscribes who to the status of a task of a modern server. It returns false if
// the server cannot send it.
func (u *Upstream) WatchTask(ctx context.Context, c *Caller, id string, who listen.Subscriber) bool {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: mcp.MethodTasksGet})
	if err != nil {
		return false
	}
	defer release()
	if l.era != mcp.Modern {
		return false
	}
	if l.slot.tasks.Add(id, who) {
		l.listen.Renew()
	}
	return true
}

// UnwatchTask undoes WatchTask.
func (u *Upstream) UnwatchTask(ctx context.Context, c *Caller, id string, who listen.Subscriber) {
	l, release, err := u.acquire(ctx, c, &jsonrpc.Request{Method: mcp.MethodTasksGet})
	if err != nil {
		return
	}
	defer release()
	if l.slot.tasks.Remove(id, who) {
		l.listen.Renew()
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
