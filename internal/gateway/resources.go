package gateway

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

const maxURI = 8 << 10

// readResource routes one resources/read.
func (s *Session) readResource(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := s.runRead(ctx, s.plain(ctx, from), req)
	if err != nil {
		return nil, err
	}
	if resp.Err != nil {
		resp.Err = legacyNotFound(resp.Err)
	}
	return resp, nil
}

func (s *Session) runRead(ctx context.Context, p party, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := uriOf(req.Params)
	if err != nil {
		return nil, err
	}
	if err := checkMeta(req.Params); err != nil {
		return nil, err
	}
	if own := s.own().Resource(uri); own != nil {
		result, err := own.Read(ctx)
		return &jsonrpc.Response{Result: result}, err
	}
	owners, err := s.owners(ctx, uri, p)
	if err != nil {
		return nil, err
	}
	var last *jsonrpc.Response
	for _, o := range owners {
		params := req.Params
		if o.uri != uri {
			params = jsonrpc.Set(params, jsonrpc.Quote(o.uri), "uri")
		}
		resp, err := s.send(ctx, p, o.upstream, &jsonrpc.Request{Method: req.Method, Params: params, Back: p.back})
		if err != nil {
			if len(owners) == 1 {
				return nil, err
			}
			continue
		}
		if resp.Err == nil {
			return resp, nil
		}
		last = resp
	}
	if last == nil || len(owners) > 1 {
		return nil, resourceNotFound(uri, p.rules.Era == mcp.Modern)
	}
	return last, nil
}

// An owner is a server that may have a resource, and its own uri for it.
type owner struct {
	upstream *upstream.Upstream
	uri      string
}

// owners are the servers to ask for a resource: the one that lists it, or
// whose template it matches; else each that has resources, in order.
func (s *Session) owners(ctx context.Context, uri string, p party) ([]owner, error) {
	ref, miss := s.look().all.ResourceFor(uri, s.readable())
	if miss != nil {
		s.settle(ctx)
		ref, miss = s.look().all.ResourceFor(uri, s.readable())
	}
	if miss == nil {
		if u := s.upstream(ref.Server); u != nil {
			return []owner{{u, ref.Name}}, nil
		}
		return nil, resourceNotFound(uri, p.rules.Era == mcp.Modern)
	}
	var list []owner
	for _, name := range miss.Candidates {
		if u := s.upstream(name); u != nil {
			list = append(list, owner{u, uri})
		}
	}
	return list, nil
}

func uriOf(params []byte) (string, error) {
	uri, ok := jsonrpc.GetString(params, "uri")
	switch {
	case !ok || uri == "":
		return "", invalidParams("uri must be a string").WithData(map[string]string{"parameter": "uri"})
	case len(uri) > maxURI:
		return "", invalidParams("uri is over %d bytes", maxURI)
	case hasScript(uri):
		return "", invalidParams("uri must not be a script")
	}
	return uri, nil
}

func hasScript(uri string) bool {
	const script = "javascript:"
	if len(uri) < len(script) {
		return false
	}
	for i := range len(script) {
		if uri[i]|0x20 != script[i] && uri[i] != script[i] {
			return false
		}
	}
	return true
}

// legacyNotFound gives a modern server's refusal the code that legacy clients
// know.
func legacyNotFound(e *jsonrpc.Error) *jsonrpc.Error {
	if e.Code != jsonrpc.CodeInvalidParams || jsonrpc.Get(e.Data, "uri") == nil {
		return e
	}
	return &jsonrpc.Error{Code: mcp.CodeResourceNotFound, Message: e.Message, Data: e.Data}
}

const maxSubscriptions = 1000

func (s *Session) subscribe(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := uriOf(req.Params)
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
	owners, err := s.owners(ctx, uri, s.plain(ctx, nil))
	if err != nil {
		return nil, err
	}
	if len(owners) == 0 {
		return nil, resourceNotFound(uri, false)
	}
	o := owners[0]
	resp, err := o.upstream.Subscribe(ctx, s.caller, o.uri, s)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	s.mu.Lock()
	if !s.closed {
		s.subs[uri] = o.upstream
	}
	s.mu.Unlock()
	return empty(), nil
}

func (s *Session) unsubscribe(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	uri, err := uriOf(req.Params)
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
	own := uri
	if _, name, ok := s.look().all.InURI(uri); ok {
		own = name
	}
	resp, err := u.Unsubscribe(ctx, s.caller, own, s)
	if err != nil || resp.Err != nil {
		return resp, err
	}
	return empty(), nil
}

// Updated tells the client that a resource of a server changed.
func (s *Session) Updated(ctx context.Context, server string, n *jsonrpc.Notification) {
	uri, ok := jsonrpc.GetString(n.Params, "uri")
	if !ok || s.opening.Client == nil {
		return
	}
	if out := s.look().all.OutURI(server, uri); out != uri {
		n = &jsonrpc.Notification{Method: n.Method, Params: jsonrpc.Set(n.Params, jsonrpc.Quote(out), "uri")}
	}
	s.opening.Client.Notify(ctx, n)
}
