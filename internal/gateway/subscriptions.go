package gateway

import (
	"context"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/listen"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// subscriptions are the resources that a session has subscribed to.
type subscriptions struct {
	*viewer
	guard     *guard
	book      listen.Book[subscription]
	following sync.Map // the servers that take the place of others, while it subscribes there
}

type subscription struct {
	*upstream.Subscription
	server *upstream.Upstream
	uri    string // the server's own
}

// unsubscribe answers resources/unsubscribe.
func (s *subscriptions) unsubscribe(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := params.URI(req.Params)
	if err != nil {
		return nil, err
	}
	one := s.book.Take(uri)
	if one == nil {
		return empty(), nil
	}
	s.retain(-listen.Weight(len(uri)))
	if resp, err := one.End(ctx); err != nil || resp.Err != nil {
		return resp, err
	}
	return empty(), nil
}

// follow subscribes again, in the background, where servers have been replaced since.
// What fails is tried again with the next change, or when the client subscribes again.
func (s *subscriptions) follow(ctx context.Context) {
	stale := make(map[*upstream.Upstream][]string)
	for uri, one := range s.book.All() {
		if u := s.replaced(one.server); u != nil {
			stale[u] = append(stale[u], uri)
		}
	}
	for u, uris := range stale { // a server that hangs does not hold up others
		if _, running := s.following.LoadOrStore(u, true); !running {
			go s.followTo(ctx, u, uris)
		}
	}
}

func (s *subscriptions) followTo(ctx context.Context, u *upstream.Upstream, uris []string) {
	defer s.following.Delete(u)
	for _, uri := range uris {
		one, _ := s.book.Find(uri) // nil when the session has ended
		if one != nil && s.replaced(one.server) == u && s.again(ctx, uri, one, u) {
			s.Updated(ctx, u.Name(), listen.MayHaveChanged(one.uri))
		}
	}
}

// leave ends subscriptions that no client has any more.
func leave(left ...*subscription) {
	var held []*listen.Hearing
	for _, one := range left {
		held = append(held, &listen.Hearing{Parts: []listen.Part{one}})
	}
	listen.Release(held, closeWait)
}

// nameOf returns the address with which the client subscribed to a server's resource.
func (s *subscriptions) nameOf(server, uri string) string {
	out, alias := s.look().All.OutURI(server, uri), catalog.AliasURI(server, uri)
	if one, _ := s.book.Find(out); one != nil {
		return out
	}
	if one, _ := s.book.Find(alias); one != nil {
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
