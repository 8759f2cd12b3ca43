package upstream

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Subscriber hears that a resource was updated. It must be comparable.
type Subscriber interface {
	Updated(ctx context.Context, server string, n *jsonrpc.Notification)
}

// subscriptions is who wants to hear about which resource of one slot. They
// outlive the connection: the next one is told again.
type subscriptions struct {
	mu   sync.Mutex
	byID map[string]map[Subscriber]struct{}
}

// add notes a subscriber; first says that it is the first one of the uri.
func (s *subscriptions) add(uri string, who Subscriber) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[uri]
	if set == nil {
		if s.byID == nil {
			s.byID = make(map[string]map[Subscriber]struct{})
		}
		set = make(map[Subscriber]struct{})
		s.byID[uri] = set
		first = true
	}
	set[who] = struct{}{}
	return first
}

// remove forgets a subscriber; last says that nobody is left for the uri.
func (s *subscriptions) remove(uri string, who Subscriber) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.byID[uri]
	if _, ok := set[who]; !ok {
		return false
	}
	delete(set, who)
	if len(set) == 0 {
		delete(s.byID, uri)
		return true
	}
	return false
}

func (s *subscriptions) uris() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := make([]string, 0, len(s.byID))
	for uri := range s.byID {
		uris = append(uris, uri)
	}
	return uris
}

// updated tells everybody who subscribed to the resource.
func (s *subscriptions) updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	uri, _ := jsonrpc.GetString(n.Params, "uri")
	s.mu.Lock()
	var who []Subscriber
	for w := range s.byID[uri] {
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
	for _, uri := range s.uris() {
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
