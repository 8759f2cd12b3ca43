package gateway

import (
	"context"
	"errors"

	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A party is the client of one request: on whose behalf servers are called and
// who answers what they ask.
type party struct {
	caller *upstream.Caller
	back   jsonrpc.Handler
	rules  mcp.Version
	roots  *roots.Told
}

// plain is the party of a request of a legacy session.
func (s *Session) plain(ctx context.Context, from jsonrpc.Peer) party {
	p := party{caller: s.caller, rules: s.rules, roots: &s.line.roots}
	if t := traced(ctx); t != nil {
		p.back = &t.back
	} else {
		p.back = &back{line: &s.line, from: from}
	}
	return p
}

// finishTool makes a result what this client's dialect expects.
func (id *identity) finishTool(result []byte) []byte {
	if id.seed && jsonrpc.Get(result, "isError") == nil && len(result) > 0 && result[0] == '{' {
		result = jsonrpc.Set(result, []byte("false"), "isError")
	}
	return result
}

// asWire returns the error of ours in err.
func asWire(err error) (*jsonrpc.Error, bool) {
	var wire *jsonrpc.Error
	ok := errors.As(err, &wire)
	return wire, ok
}
