package gateway

import (
	"context"
	"errors"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// read reads a resource of the gateway or of the server that lists it. If no
// server lists it, the first server that finds it answers.
func (d *dispatcher) read(ctx context.Context, c *Call) (*jsonrpc.Response, error) {
	uri, err := params.URI(c.Params)
	if err != nil {
		return nil, err
	}
	if err := params.CheckMeta(c.Params); err != nil {
		return nil, err
	}
	c.Target = uri
	if strings.HasPrefix(uri, kept.Scheme) && d.opening.Server == "" {
		return d.large.read(ctx, uri)
	}
	d.learnSkills(ctx, c, uri)
	owners := d.finder.owners(ctx, uri, c)
	var last *jsonrpc.Response
	for _, t := range owners {
		resp, err := d.attempt(ctx, c, t)
		if err != nil {
			if wire, ok := errors.AsType[*jsonrpc.Error](err); len(owners) == 1 || ok && mcp.ReasonOf(wire) == mcp.RateLimited {
				return nil, err
			}
			continue
		}
		if resp.Err == nil {
			if _, own, byAlias := d.look().All.InURI(uri); byAlias && own == t.name {
				resp.Result = catalog.Told(resp.Result, t.name, uri)
			}
			return resp, nil
		}
		last = resp
	}
	if last == nil || len(owners) > 1 {
		return nil, d.notFound(c)
	}
	return last, nil
}

// resolveSubscription finds the resource that a client subscribes to.
func (d *dispatcher) resolveSubscription(ctx context.Context, c *Call) (*target, error) {
	uri, err := params.URI(c.Params)
	if err != nil {
		return nil, err
	}
	c.Target = uri
	d.learnSkills(ctx, c, uri)
	owners := d.finder.owners(ctx, uri, c)
	if len(owners) == 0 {
		return nil, d.notFound(c)
	}
	return owners[0], nil
}

// owners returns the servers to ask for a resource: the one that lists it or
// has a matching template, otherwise every server with resources, in order.
func (f *finder) owners(ctx context.Context, uri string, c *Call) []*target {
	ref, miss := f.look().All.ResourceFor(uri, f.readable())
	if miss != nil {
		f.startup.awaitAll(ctx)
		ref, miss = f.look().All.ResourceFor(uri, f.readable())
	}
	servers := []string{ref.Server}
	if miss != nil {
		servers, ref = miss.Candidates, catalog.Ref{Name: uri}
	}
	var list []*target
	for _, server := range servers {
		u := f.upstream(server)
		if u == nil || c.Server != "" && server != c.Server {
			continue
		}
		t := &target{kind: resourceItem, upstream: u, name: ref.Name, item: ref.Item, params: c.Params}
		if ref.Name != uri {
			t.params = jsonrpc.Set(t.params, jsonrpc.Quote(ref.Name), "uri")
		}
		list = append(list, t)
	}
	return list
}
