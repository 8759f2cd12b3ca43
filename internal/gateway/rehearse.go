package gateway

import (
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Pick is a call of a tool in a session that is a rehearsal, by whichever door:
// found, decided on and completed like any other, and not sent yet.
type Pick struct {
	// Server has the tool, by its own name.
	Server, Tool string
	Arguments    json.RawMessage
	// ReadOnly is what the server says of the tool.
	ReadOnly bool
}

// rehearse lets a call be answered in place of its server. A call that nobody
// answers runs, if all that was not decided yet lets it, and only where the tool
// changes nothing.
func (g *guard) rehearse(ctx context.Context, c *Call, t *target) error {
	p := Pick{Server: t.upstream.Name(), Tool: t.name, Arguments: jsonrpc.AsObject(t.arguments), ReadOnly: t.item != nil && t.item.ReadOnly()}
	if t.instead = g.opening.Rehearse(p); t.instead != nil {
		return nil
	}
	if !p.ReadOnly {
		return mcp.Failure(mcp.PolicyDenied, p.Server, "this is a rehearsal: only tools that change nothing are called")
	}
	for i := range decisions {
		if !decisions[i].runs {
			continue
		}
		if err := decisions[i].decide(g, ctx, c, t); err != nil {
			return err
		}
	}
	return nil
}
