package gateway

import (
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// An Approval is a call that runs only after a person's yes.
type Approval struct {
	Server, Tool string
	// Client and Session are who wants it.
	Client, Session string
	Arguments       json.RawMessage
}

// ask puts a call to a person where the configuration wants that. A call that
// nobody allows has not run.
func (s *Session) ask(ctx context.Context, u *upstream.Upstream, ref *catalog.Ref, args []byte) error {
	tools := u.Config().Tools
	if len(tools) == 0 || !tools[ref.Name].Ask {
		return nil
	}
	a := Approval{Server: ref.Server, Tool: ref.Name, Client: s.clientName(), Session: s.caller.Session, Arguments: args}
	if s.gw.opt.Approve != nil && s.gw.opt.Approve(ctx, a) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return mcp.Failure(mcp.PolicyDenied, ref.Server, "this call needs a person's yes, and nobody gave it")
}
