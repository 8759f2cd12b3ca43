package gateway

import (
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Pick is a tool call in a rehearsal session. It was resolved, authorized and
// completed like any other call, but not sent.
type Pick struct {
	// Server owns the tool; Tool is the server's own name for it.
	Server, Tool string
	Arguments    json.RawMessage
	// ReadOnly is the tool's readOnlyHint.
	ReadOnly bool
}

// rehearse answers a call in place of its server. If Rehearse gives no answer,
// the remaining decisions are made, and the call runs only if the tool is
// read-only.
func (g *guard) rehearse(ctx context.Context, c *Call, t *target) error {
	p := Pick{Server: t.upstream.Name(), Tool: t.name, Arguments: jsonrpc.AsObject(t.arguments), ReadOnly: t.readOnly()}
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
