package gateway

import (
	"context"
	"fmt"
	"strings"

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
		return nil, s.badLevel(raw, given)
	}
	s.level.Store(&level)
	if s.opening.Stdio && s.gw.opt.Level != nil {
		s.gw.opt.Level.Set(mcp.SlogLevel(level))
	}
	s.caller.LogLevel = level
	s.setServerLevel(ctx, level)
	if !s.seed {
		return empty(), nil
	}
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"success":true,"level":%s,"message":%s}`,
		jsonrpc.Quote(given), jsonrpc.Quote("Log level set to "+given))}, nil
}

// badLevel says what the source documents say, and the whole list beside it.
func (s *Session) badLevel(raw []byte, given string) *jsonrpc.Error {
	switch {
	case raw == nil:
		given = "undefined"
	case raw[0] != '"':
		given = refusal.Clip(string(raw))
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if s.seed {
		code = jsonrpc.CodeInternal
	}
	return jsonrpc.Errorf(code, "Invalid log level: %s. Valid levels are: debug, info, warn, error", refusal.Clip(given)).
		WithData(map[string]any{"validLevels": strings.Join(mcp.Levels(), ", ")})
}
