package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/mcp"
)

// An envelope is the result of exec if there is no tool result to pass on.
type envelope struct {
	Server  string          `json:"server_name"`
	Tool    string          `json:"tool_name"`
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   *string         `json:"error"`
	Reason  string          `json:"reason,omitempty"`
}

// exec calls a tool of a server and passes its result on unchanged. It makes
// the call independent of the catalogue: only the gateway decides about it and
// records it, and exec only words the refusal.
func (c compact) exec(ctx context.Context, env *Env, args []byte) (*jsonrpc.Response, error) {
	server, _ := jsonrpc.GetString(args, "server_name")
	tool, _ := jsonrpc.GetString(args, "tool_name")
	refused := func(text, reason string) (*jsonrpc.Response, error) {
		return failure(envelope{Server: server, Tool: tool, Data: json.RawMessage("null"), Error: &text, Reason: reason}), nil
	}
	switch {
	case server == "":
		return refused("server_name is required. Available: "+listText(serverNames(env, catalog.View{Visible: env.Visible})), "")
	case tool == "":
		return refused("tool_name is required", "")
	}
	inner := argumentsOf(args)
	resp, err := env.Call(ctx, server, tool, inner)
	switch {
	case ctx.Err() != nil:
		return resp, err
	case err != nil:
		return refused(worded(env, server, tool, inner, err))
	case resp.Err != nil && resp.Err.Code == mcp.CodeElicitURL && env.OpensURL:
		return resp, nil // the client repeats the call after the visit
	case resp.Err != nil:
		return refused(resp.Err.Message, "")
	}
	return resp, nil
}

const badArguments = "Argument validation failed: arguments must be an object"

// argumentsOf returns the arguments for the called tool; nil if there are none.
func argumentsOf(args []byte) []byte {
	inner := jsonrpc.Get(args, "arguments")
	if len(inner) == 0 || inner[0] == 'n' {
		return nil
	}
	return inner
}

// worded returns the text for an error of the gateway, and its reason if it has
// one. The error of a call that may have run keeps its message. About a server
// that the caller cannot see the text reveals nothing, not even that it is
// down.
func worded(env *Env, server, tool string, inner []byte, err error) (text, reason string) {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return messageOf(err), ""
	}
	reason, _ = jsonrpc.GetString(wire.Data, "reason")
	if reason != "" && reason != string(mcp.UpstreamUnavailable) {
		return messageOf(err), reason
	}
	view := catalog.View{Visible: env.Visible}
	if !knows(env, view, server) {
		return fmt.Sprintf("Server '%s' not found. Available: %s", server, listText(serverNames(env, view))), ""
	}
	_, miss := env.Catalog().ToolOf(server, tool, env.Visible)
	switch {
	case miss != nil && miss.Kind == catalog.ServerDown:
		return fmt.Sprintf("No active connection to server '%s'%s", server, parenthesised(miss.State)), reason
	case miss != nil:
		return fmt.Sprintf("Tool '%s' not found on server '%s'. Available: %s", tool, server, listText(toolNames(env, view, server))), reason
	case len(inner) > 0 && inner[0] != '{' && wire.Code == jsonrpc.CodeInvalidParams:
		return badArguments, reason
	}
	return messageOf(err), reason
}

func messageOf(err error) string {
	if wrong, ok := errors.AsType[jsonschema.Violations](err); ok && len(wrong) > 0 {
		return wrong.Error()
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return wire.Message
	}
	return err.Error()
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// listText formats names as the original program did.
func listText(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "'" + n + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// textResult returns a tool result with one block: v as indented JSON.
func textResult(v any) *jsonrpc.Response {
	return &jsonrpc.Response{Result: result(v, false)}
}

// failure is like textResult, but for an error.
func failure(v any) *jsonrpc.Response {
	return &jsonrpc.Response{Result: result(v, true)}
}

func result(v any, isError bool) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, jsonrpc.Quote(err.Error()))
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":%t}`, jsonrpc.Quote(strings.TrimSuffix(b.String(), "\n")), isError)
}
