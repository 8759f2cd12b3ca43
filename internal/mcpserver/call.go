package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Call is one request to a feature. Its methods send messages to the client,
// as far as the era allows.
type Call struct {
	// Arguments is the raw params.arguments, nil if absent.
	Arguments json.RawMessage
	// Version is the protocol version of this call.
	Version string

	params *params
	server *Server
	from   jsonrpc.Peer
	offer  map[string]json.RawMessage
	level  string // "" means that no log messages may be sent
	modern bool

	answers map[string]json.RawMessage // modern: answers of this and earlier rounds
	asked   map[string]any             // modern: questions for the next round
}

// errAsked ends a modern call that needs input of the client.
var errAsked = i18n.Errorf("input required", "需要输入")

// Bind decodes the arguments.
func (c *Call) Bind(v any) error {
	if c.Arguments == nil {
		return nil
	}
	if err := json.Unmarshal(c.Arguments, v); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "argument %s must not be a %s", strings.ToLower(wrong.Field), wrong.Value)
		}
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the arguments are not an object of the tool's schema")
	}
	return nil
}

// Meta returns a member of the request's _meta, nil if absent.
func (c *Call) Meta(name string) json.RawMessage { return c.params.Meta[name] }

// Offers reports whether the client offers a capability.
func (c *Call) Offers(capability string) bool {
	_, ok := c.offer[capability]
	return ok
}

// capability is the client capability that each question needs.
var capability = map[string]string{
	mcp.MethodElicit:    "elicitation",
	mcp.MethodSampling:  "sampling",
	mcp.MethodRootsList: "roots",
}

// Ask sends a question to the client of this call. In the modern era the first
// pass returns an error that the feature must return; when the client repeats
// the call, Ask returns the answer. key distinguishes the questions of one
// call.
func (c *Call) Ask(ctx context.Context, key, method string, params any) (json.RawMessage, error) {
	if need := capability[method]; !c.Offers(need) {
		if c.modern {
			return nil, jsonrpc.Errorf(mcp.CodeCapabilityMissing, "this tool needs the client capability %s", need).
				WithData(map[string]any{"requiredCapabilities": map[string]any{need: struct{}{}}})
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "the client does not offer %s", need)
	}
	if c.modern && c.server.OldQuestions {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s via server-initiated requests is unavailable on %s connections.", capability[method], c.Version)
	}
	if c.modern {
		if answer, ok := c.answers[key]; ok {
			return answer, nil
		}
		if params == nil {
			params = struct{}{} // optional, but the Go SDK requires it
		}
		c.asked[key] = map[string]any{"method": method, "params": params}
		return nil, errAsked
	}
	req := &jsonrpc.Request{Method: method}
	if params != nil {
		req.Params = encode(params)
	}
	resp, err := c.from.Call(ctx, req)
	if err != nil {
		return nil, i18n.Errorf("asking the client for %s: %w", "向客户端请求 %s：%w", method, err)
	}
	if resp.Err != nil {
		return nil, resp.Err
	}
	return append(json.RawMessage(nil), resp.Result...), nil
}

// Progress reports the progress of the call, if the client has requested it.
func (c *Call) Progress(ctx context.Context, done, total float64, message string) {
	token, ok := c.params.Meta["progressToken"]
	if !ok {
		return
	}
	c.notify(ctx, mcp.NotificationProgress, map[string]any{
		"progressToken": token, "progress": done, "total": total, "message": message,
	})
}

// Log sends a log message of this call, if the client wants its level.
func (c *Call) Log(ctx context.Context, level, logger string, data any) {
	if c.level == "" || !mcp.LevelAtLeast(level, c.level) {
		return
	}
	c.notify(ctx, mcp.NotificationMessage, map[string]any{"level": level, "logger": logger, "data": data})
}

func (c *Call) notify(ctx context.Context, method string, params any) {
	// The goroutine that answers the call notices if the client has
	// disconnected.
	_ = c.from.Notify(ctx, &jsonrpc.Notification{Method: method, Params: encode(params)})
}
