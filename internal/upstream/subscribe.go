package upstream

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Subscriber hears that a resource or a task was updated. It must be
// comparable.
type Subscriber interface {
	Updated(ctx context.Context, server string, n *jsonrpc.Notification)
}

// subscriptions is who wants to hear about what of one slot. They outlive the
// connection: the next one is told again.
type subscriptions struct {
	mu   sync.Mutex
	byID map[string]map[Subscriber]struct{}
}

// add notes a subscriber; first says that it is the first one of the id.
func (s *subscriptions) add(id string, who Subscriber) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[id]
	if set == nil {
		if s.byID == nil {
			s.byID = make(map[string]map[Subscriber]struct{})
		}
		set = make(map[Subscriber]struct{})
		s.byID[id] = set
		first = true
	}
	set[who] = struct{}{}
	return first
}

// remove forgets a subscriber; last says that nobody is left for the id.
func (s *subscriptions) remove(id string, who Subscriber) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[id]
	if _, ok := set[who]; !ok {
		return false
	}
	delete(set, who)
	if len(set) == 0 {
		delete(s.byID, id)
		return true
	}
	return false
}

func (s *subscriptions) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.byID))
	for id := range s.byID {
		ids = append(ids, id)
	}
	return ids
}

// tell tells everybody who subscribed to the id.
func (s *subscriptions) tell(ctx context.Context, server, id string, n *jsonrpc.Notification) {
	s.mu.Lock()
	var who []Subscriber
	for w := range s.byID[id] {
		who = append(who, w)
	}
	s.mu.Unlock()
	for _, w := range who {
		w.Updated(ctx, server, n)
	}
}

// restore subscribes again on a new connection.
func (s *subscriptions) restore(ctx context.Context, l *link) {
	if l.era == mcp.Modern {
		return // its one listen request names them
	}
	for _, uri := range s.ids() {
		if _, err := l.ask(ctx, mcp.MethodSubscribe, uriParams(uri)); err != nil {
			l.up.log.Warn("subscribing again", "uri", uri, "err", err)
		}
	}
}

func uriParams(uri string) []byte {
	return jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")
}

// Subscribe makes who hear about updates of a resource.
func (u *Upstream) Subscribe(ctx context.Context, c *Caller, uri string, who Subscriber) (*jsonrpc.Response, error) {
	l, release, err := u.acquire(ctx, c, mcp.MethodSubscribe)
	if err != nil {
		return nil, err
	}
	defer release()
	if !l.slot.subs.add(uri, who) {
		return emptyResult(), nil
	}
	if l.era == mcp.Modern {
		l.listen.again()
		return emptyResult(), nil
	}
	resp, err := l.ask(ctx, mcp.MethodSubscribe, uriParams(uri))
	if err != nil || resp.Err != nil {
		l.slot.subs.remove(uri, who)
	}
	return resp, u.failure(ctx, l, err)
}

// Unsubscribe undoes Subscribe.
func (u *Upstream) Unsubscribe(ctx context.Context, c *Caller, uri string, who Subscriber) (*jsonrpc.Response, error) {
	l, release, err := u.acquire(ctx, c, mcp.MethodUnsubscribe)
	if err != nil {
		return nil, err
	}
	defer release()
	if !l.slot.subs.remove(uri, who) {
		return emptyResult(), nil
	}
	if l.era == mcp.Modern {
		l.listen.again()
		return emptyResult(), nil
	}
	resp, err := l.ask(ctx, mcp.MethodUnsubscribe, uriParams(uri))
	return resp, u.failure(ctx, l, err)
}

func emptyResult() *jsonrpc.Response { return &jsonrpc.Response{Result: []byte(`{}`)} }

// WatchTask makes who hear about a task of a modern server; false means that
// the server cannot tell.
func (u *Upstream) WatchTask(ctx context.Context, c *Caller, id string, who Subscriber) bool {
	l, release, err := u.acquire(ctx, c, mcp.MethodTasksGet)
	if err != nil {
		return false
	}
	defer release()
	if l.era != mcp.Modern {
		return false
	}
	if l.slot.tasks.add(id, who) {
		l.listen.again()
	}
	return true
}

// UnwatchTask undoes WatchTask.
func (u *Upstream) UnwatchTask(ctx context.Context, c *Caller, id string, who Subscriber) {
	l, release, err := u.acquire(ctx, c, mcp.MethodTasksGet)
	if err != nil {
		return
	}
	defer release()
	if l.slot.tasks.remove(id, who) {
		l.listen.again()
	}
}

// Listening waits until a modern server has confirmed what c subscribed to and
// watches, for a bounded time.
func (u *Upstream) Listening(ctx context.Context, c *Caller) {
	l, release, err := u.acquire(ctx, c, mcp.MethodListen)
	if err != nil {
		return
	}
	defer release()
	l.listen.settle(ctx)
}
