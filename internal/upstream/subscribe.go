package upstream

import (
	"context"
	"fmt"
	"log/slog"
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
	ctx, cancel := context.WithCancel(ctx)
	l.up.background.Go(func() {
		defer cancel()
		select {
		case <-l.done:
		case <-ctx.Done():
		}
	})
	l.up.background.Go(func() {
		defer cancel()
		level := new(slog.LevelVar) // a server may refuse many, again and again
		level.Set(slog.LevelWarn)
		renew(ctx, func(ctx context.Context, method, uri string) (*jsonrpc.Response, error) {
			resp, err := tell(ctx, l, method, uri)
			why := err
			if err == nil && resp.Err != nil {
				why = resp.Err
			}
			if why != nil {
				l.up.log.Log(ctx, level.Level(), "subscribing again", "uri", uri, "err", why)
				level.Set(slog.LevelDebug)
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

// A Subscription is one of a client to a resource or a task.
type Subscription struct {
	link  *link
	uri   string // of the resource; empty for a task
	asked int    // by the request of a modern connection that names it
	end   func(ctx context.Context) (*jsonrpc.Response, error)
	ended atomic.Bool
}

// newSubscription returns one that the server has been told of on l.
func newSubscription(l *link, uri string, end func(context.Context) (*jsonrpc.Response, error)) *Subscription {
	return &Subscription{link: l, uri: uri, asked: l.listen.Asked(), end: end}
}

// End undoes the subscription, once. It does so even if the server is away or does not
// answer, because the server would otherwise be subscribed to again when it returns.
func (s *Subscription) End(ctx context.Context) (*jsonrpc.Response, error) {
	if s.ended.Swap(true) {
		return emptyResult(), nil
	}
	return s.end(ctx)
}

// Confirm waits, for a bounded time, until a modern server has acknowledged the
// subscription. It ends one that the server does not accept, and returns why.
func (s *Subscription) Confirm(ctx context.Context) (*jsonrpc.Response, error) {
	s.link.listen.AwaitConfirmed(ctx, s.asked)
	if s.uri == "" {
		return emptyResult(), nil
	}
	refused, why := s.link.listen.Refuses(s.uri)
	switch {
	case ctx.Err() != nil:
		s.End(ctx)
		return nil, context.Cause(ctx)
	case !refused:
		return emptyResult(), nil
	case why == nil:
		server := s.link.up.name
		why = mcp.Failure(mcp.Overloaded, server, fmt.Sprintf("server %q accepts no more subscriptions: it left out the one to %q; "+
			"end subscriptions that are not needed and subscribe again, or read the resource when it is needed", server, s.uri))
	}
	s.End(ctx)
	return &jsonrpc.Response{Err: why}, nil
}

// Subscribe subscribes who to updates of a resource. The subscription is nil if that
// fails. The server hears only of the first and the last subscriber; a modern one may
// still refuse, see Confirm.
func (u *Upstream) Subscribe(ctx context.Context, c *Caller, uri string, who listen.Subscriber) (*Subscription, *jsonrpc.Response, error) {
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
	resp, err := s.subs.Subscribe(ctx, c.who(ctx), uri, who, ask)
	if err != nil || resp.Err != nil {
		return nil, resp, err
	}
	return newSubscription(l, uri, func(ctx context.Context) (*jsonrpc.Response, error) {
		return s.subs.Unsubscribe(ctx, uri, who, ask)
	}), resp, nil
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

// WatchTask subscribes who to the status of a task of a modern server. It returns nil if
// the server cannot send the status.
func (u *Upstream) WatchTask(ctx context.Context, c *Caller, id string, who listen.Subscriber) *Subscription {
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
	return newSubscription(l, "", func(context.Context) (*jsonrpc.Response, error) {
		if s.tasks.Remove(id, who) {
			if l := s.current(); l != nil && l.era == mcp.Modern {
				l.listen.Renew()
			}
		}
		return emptyResult(), nil
	})
}
