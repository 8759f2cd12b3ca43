package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

const maxSubscriptions = 1000

// subscriptions are the resources that a session has subscribed to.
type subscriptions struct {
	*viewer
	guard  *guard
	mu     sync.Mutex
	closed bool
	owners map[string]*upstream.Upstream // by the uri that the client used
}

// weightOf estimates the memory that a subscription takes, here and in package
// upstream.
func weightOf(uri string) int { return 512 + 2*len(uri) }

// admit counts one more subscription, or reports an error if the session may have no
// more. known is true if it has subscribed to uri already.
func (s *subscriptions) admit(uri string) (known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.owners[uri] != nil:
		return true, nil
	case len(s.owners) >= maxSubscriptions:
		return false, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this session has %d subscriptions, which is the limit", maxSubscriptions)
	}
	return false, s.retain(weightOf(uri))
}

// forgo stops counting a subscription that has ended or never began.
func (s *subscriptions) forgo(uri string) { s.retain(-weightOf(uri)) }

// note stores an admitted subscription, which ends with the session.
func (s *subscriptions) note(uri string, u *upstream.Upstream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.owners[uri] != nil {
		s.forgo(uri) // another request made it meanwhile
	}
	if s.owners == nil {
		s.owners = make(map[string]*upstream.Upstream)
	}
	s.owners[uri] = u
}

// unsubscribe answers resources/unsubscribe.
func (s *subscriptions) unsubscribe(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := params.URI(req.Params)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	u := s.owners[uri]
	delete(s.owners, uri)
	s.mu.Unlock()
	if u == nil {
		return empty(), nil
	}
	s.forgo(uri)
	return s.end(ctx, u, uri)
}

// close refuses further subscriptions and returns the present ones. first is
// false if it was called before.
func (s *subscriptions) close() (owners map[string]*upstream.Upstream, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owners, first = s.owners, !s.closed
	s.owners, s.closed = nil, true
	return owners, first
}

// ofProjects returns the subscriptions at servers with a connection for each project.
func (s *subscriptions) ofProjects() map[string]*upstream.Upstream {
	s.mu.Lock()
	owners := maps.Clone(s.owners)
	s.mu.Unlock()
	maps.DeleteFunc(owners, func(_ string, u *upstream.Upstream) bool { return !u.Config().ByProject() })
	return owners
}

// ownURI returns the server's own address of a resource.
func (s *subscriptions) ownURI(uri string) string {
	if _, own, ok := s.look().All.InURI(uri); ok {
		return own
	}
	return uri
}

// nameOf returns the address with which the client subscribed to a server's resource.
func (s *subscriptions) nameOf(server, uri string) string {
	out, alias := s.look().All.OutURI(server, uri), catalog.AliasURI(server, uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners[out] == nil && s.owners[alias] != nil {
		return alias
	}
	return out
}

// hears reports whether the client may hear that a resource of a server changed,
// which it may have subscribed to before the configuration changed. uri is the
// server's own address.
func (g *guard) hears(ctx context.Context, server, uri string) bool {
	all := g.look().All
	switch ref, miss := all.ResourceFor(all.OutURI(server, uri), g.readable()); {
	case miss == nil && ref.Server != server, miss != nil && !slices.Contains(miss.Candidates, server):
		return false
	}
	u := g.upstream(server)
	c := &Call{Via: g.opening.Via, Method: mcp.NotificationUpdated, Server: server, Target: uri}
	return u != nil && g.authorize(ctx, c, &target{kind: resourceItem, upstream: u, name: uri}) == nil
}

// Updated notifies the client that a resource of a server changed.
func (s *subscriptions) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	uri, ok := jsonrpc.GetString(n.Params, "uri")
	if !ok || s.opening.Client == nil || !s.guard.hears(ctx, server, uri) {
		return
	}
	if out := s.nameOf(server, uri); out != uri {
		n = &jsonrpc.Notification{Method: n.Method, Params: jsonrpc.Set(n.Params, jsonrpc.Quote(out), "uri")}
	}
	s.opening.Client.Notify(ctx, n)
}
