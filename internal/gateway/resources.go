package gateway

import (
	"context"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// read reads a resource: of ourselves, of the server that has it, or of the
// first that finds it where nobody lists it.
func (s *Session) read(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	uri, err := params.URI(c.Params)
	if err != nil {
		return nil, err
	}
	if err := params.CheckMeta(c.Params); err != nil {
		return nil, err
	}
	c.Target = uri
	if strings.HasPrefix(uri, kept.Scheme) && s.opening.Server == "" {
		return s.readKept(ctx, uri)
	}
	owners, err := s.owners(ctx, uri, c)
	if err != nil {
		return nil, err
	}
	var last *jsonrpc.Response
	for _, t := range owners {
		resp, err := s.attempt(ctx, c, t)
		if err != nil {
			if wire, ok := asWire(err); len(owners) == 1 || ok && mcp.ReasonOf(wire) == mcp.RateLimited {
				return nil, err
			}
			continue
		}
		if resp.Err == nil {
			if _, own, byAlias := s.look().All.InURI(uri); byAlias && own == t.name {
				resp.Result = catalog.Told(resp.Result, t.name, uri)
			}
			return resp, nil
		}
		last = resp
	}
	if last == nil || len(owners) > 1 {
		return nil, s.notFound(c)
	}
	return last, nil
}

// resolveSubscription finds the resource that a client wants to hear about.
func (s *Session) resolveSubscription(ctx context.Context, c *Call) (*target, error) {
	uri, err := params.URI(c.Params)
	if err != nil {
		return nil, err
	}
	c.Target = uri
	owners, err := s.owners(ctx, uri, c)
	if err != nil {
		return nil, err
	}
	if len(owners) == 0 {
		return nil, s.notFound(c)
	}
	return owners[0], nil
}

// owners are the servers to ask for a resource: the one that lists it, or
// whose template it matches; else each that has resources, in order.
func (s *Session) owners(ctx context.Context, uri string, c *Call) ([]*target, error) {
	s.learnSkills(ctx, c, uri)
	ref, miss := s.look().All.ResourceFor(uri, s.readable())
	if miss != nil {
		s.settle(ctx)
		ref, miss = s.look().All.ResourceFor(uri, s.readable())
	}
	servers := []string{ref.Server}
	if miss != nil {
		servers, ref = miss.Candidates, catalog.Ref{Name: uri}
	}
	var list []*target
	for _, server := range servers {
		u := s.upstream(server)
		if u == nil || c.Server != "" && server != c.Server {
			continue
		}
		t := &target{kind: resourceItem, upstream: u, name: ref.Name, item: ref.Item, params: c.Params}
		if ref.Name != uri {
			t.params = jsonrpc.Set(t.params, jsonrpc.Quote(ref.Name), "uri")
		}
		list = append(list, t)
	}
	return list, nil
}

const maxSubscriptions = 1000

// subscribe answers resources/subscribe.
func (s *Session) subscribe(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := params.URI(req.Params)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	_, twice := s.subs[uri]
	full := len(s.subs) >= maxSubscriptions
	s.mu.Unlock()
	if twice {
		return empty(), nil
	}
	if full {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this session has %d subscriptions, which is the limit", maxSubscriptions)
	}
	return s.forward(ctx, p, req)
}

// subscribed notes what a session hears about, to end it with the session.
func (s *Session) subscribed(uri string, u *upstream.Upstream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.subs[uri] = u
	}
}

func (s *Session) unsubscribe(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := params.URI(req.Params)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	u := s.subs[uri]
	delete(s.subs, uri)
	s.mu.Unlock()
	if u == nil {
		return empty(), nil
	}
	return s.endSubscription(ctx, u, ownURI(s, uri))
}

// ownURI is the address of a resource as its server knows it.
func ownURI(s *Session, uri string) string {
	if _, own, ok := s.look().All.InURI(uri); ok {
		return own
	}
	return uri
}

// subscribedAs is the address by which a session subscribed to a server's
// resource.
func (s *Session) subscribedAs(server, uri string) string {
	out, alias := s.look().All.OutURI(server, uri), catalog.AliasURI(server, uri)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[out] == nil && s.subs[alias] != nil {
		return alias
	}
	return out
}

// Updated tells the client that a resource of a server changed.
func (s *Session) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	uri, ok := jsonrpc.GetString(n.Params, "uri")
	if !ok || s.opening.Client == nil {
		return
	}
	if out := s.subscribedAs(server, uri); out != uri {
		n = &jsonrpc.Notification{Method: n.Method, Params: jsonrpc.Set(n.Params, jsonrpc.Quote(out), "uri")}
	}
	s.opening.Client.Notify(ctx, n)
}
