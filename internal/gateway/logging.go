package gateway

import (
	"context"
	"fmt"

	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// setLevel answers logging/setLevel. On stdio it sets the level of our own log
// too: there is nobody else whose level that could be.
func (s *Session) setLevel(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	raw := jsonrpc.Get(req.Params, "level")
	given, isString := jsonrpc.GetString(req.Params, "level")
	level, ok := mcp.ParseLevel(given)
	if !isString || !ok {
		return nil, refusal.BadLevel(raw, given, s.seed)
	}
	s.line.level.Store(&level)
	if s.opening.Stdio && s.gw.opt.Level != nil {
		s.gw.opt.Level.Set(mcp.SlogLevel(level))
	}
	s.caller.LogLevel = level
	s.sender.setLevel(ctx, level)
	if !s.seed {
		return empty(), nil
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"success":true,"level":%s,"message":%s}`,
		jsonrpc.Quote(given), jsonrpc.Quote("Log level set to "+given))}, nil
}
