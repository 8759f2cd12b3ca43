package refusal

import (
	"errors"

	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// AsToolError turns an ArgumentsError into a tool error, for protocol versions
// that want this so that the model can read it.
func AsToolError(rules mcp.Version, err error) (*jsonrpc.Response, error) {
	var bad *params.ArgumentsError
	if !errors.As(err, &bad) || !rules.ToolErrors {
		return nil, err
	}
	text := bad.Wire.Message
	if details, ok := jsonrpc.GetString(bad.Wire.Data, "details"); ok {
		text += ": " + details
	}
	return &jsonrpc.Response{Result: asResult(text)}, nil
}
