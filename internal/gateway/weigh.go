package gateway

import (
	"context"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/gateway/tasks"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/weight"
)

// retain counts n more bytes that the session keeps until it ends: how its client
// describes itself, roots and subscriptions. n may be negative.
func (id *identity) retain(n int) error {
	if !id.opening.Session || !access.Shares(id.opening.Who.ID) {
		return nil
	}
	return id.keeps.Add(n, func(n int) error { return id.gw.memory.Take(id.opening.Who.ID, n) })
}

// weighed makes a call whose parameters count until it ends. The connection counts
// them too, but a call may outlive the request that brought it.
func weighed(ctx context.Context, d *dispatcher, c *Call) (*jsonrpc.Response, error) {
	if err := d.gw.memory.Reads(d.opening.Who.ID); err != nil {
		return nil, err
	}
	if len(c.Params) < weight.Large {
		return d.do(ctx, c)
	}
	release, err := d.gw.memory.Weigh(d.opening.Who.ID, len(c.Params))
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
		release, err := d.gw.memory.Weigh(link.Principal, n)
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
