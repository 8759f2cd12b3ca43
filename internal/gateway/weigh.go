package gateway

import (
	"context"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/weight"
)

// weigh counts n bytes that stay in memory for a principal until release is called.
// It returns an error if the principal has its share of the memory.
func weigh(g *Gateway, principal string, n int) (release func(), err error) {
	if n < weight.Large {
		return func() {}, nil
	}
	return hold(g, principal, n)
}

// hold is weigh for what may stay for long, even if it is small.
func hold(g *Gateway, principal string, n int) (release func(), err error) {
	if !access.Shares(principal) {
		return func() {}, nil
	}
	if err := take(g, principal, n); err != nil {
		return nil, err
	}
	return func() { g.weights.Give(principal, int64(n)) }, nil
}

func take(g *Gateway, principal string, n int) error {
	limits := &g.config().Limits
	most := limits.Unfinished()
	// The last quarter is for bodies: with one of them a client answers a call.
	if !g.weights.Take(principal, int64(n), most-most/4) {
		g.opt.Hits.Add("unfinishedPerKey")
		return mcp.Failure(mcp.Overloaded, "", weight.Full(most))
	}
	return nil
}

// retain counts n more bytes that the session keeps until it ends: how its client
// describes itself, roots and subscriptions. n may be negative.
func (id *identity) retain(n int) error {
	if !id.opening.Session || !access.Shares(id.opening.Who.ID) {
		return nil
	}
	return id.keeps.Add(n, func(n int) error { return take(id.gw, id.opening.Who.ID, n) })
}

// weighed makes a call whose parameters count until it ends. The connection counts
// them too, but a call may outlive the request that brought it.
func weighed(ctx context.Context, d *dispatcher, c *Call) (*jsonrpc.Response, error) {
	if len(c.Params) < weight.Large {
		return d.do(ctx, c)
	}
	release, err := weigh(d.gw, d.opening.Who.ID, len(c.Params))
	if err != nil {
		return nil, err
	}
	defer release()
	return d.do(ctx, c)
}

// weighedTask returns a link whose task counts n bytes until it ends.
func weighedTask(d *dispatcher, link tasks.Link, n int) tasks.Link {
	enter := link.Enter
	link.Enter = func() (func(), error) {
		release, err := weigh(d.gw, link.Principal, n)
		if err != nil {
			return nil, err
		}
		leave, err := enter()
		if err != nil {
			release()
			return nil, err
		}
		return func() { leave(); release() }, nil
	}
	return link
}
