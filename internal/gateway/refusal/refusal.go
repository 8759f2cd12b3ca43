// Package refusal makes the errors for names that a client cannot use, with the
// codes of each era.
package refusal

import (
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Clip shortens a client's text, so that an error echoes one line at most.
func Clip(s string) string {
	if len(s) > 256 {
		return s[:256]
	}
	return s
}

// NoTool says that there is no such tool. seed selects the answer of mcps-proxy
// and mcpx.
func NoTool(name string, miss *catalog.Miss, seed bool) *jsonrpc.Error {
	if miss.Kind == catalog.Ambiguous {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Tool '%s' is ambiguous", Clip(name)).
			WithData(map[string]any{"tool": Clip(name), "candidates": miss.Candidates})
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if seed {
		code = jsonrpc.CodeMethodNotFound
	}
	return jsonrpc.Errorf(code, "Tool '%s' not found", Clip(name)).WithData(map[string]string{"tool": Clip(name)})
}

// NoPrompt says that there is no such prompt.
func NoPrompt(name string, miss *catalog.Miss) *jsonrpc.Error {
	if miss.Kind == catalog.Ambiguous {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Prompt '%s' is ambiguous", Clip(name)).
			WithData(map[string]any{"prompt": Clip(name), "candidates": miss.Candidates})
	}
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Prompt '%s' not found", Clip(name)).
		WithData(map[string]string{"prompt": Clip(name)})
}

// NoResource says that there is no such resource.
func NoResource(uri string, modern bool) *jsonrpc.Error {
	code := int64(mcp.CodeResourceNotFound)
	if modern {
		code = jsonrpc.CodeInvalidParams
	}
	return jsonrpc.Errorf(code, "Resource not found").WithData(map[string]string{"uri": Clip(uri)})
}

// NoTask says that there is no such task.
func NoTask(id string) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Task '%s' not found", Clip(id))
}

// NoSkill says that no server has a skill, or the directory that a method reads.
func NoSkill(method, uri string) *jsonrpc.Error {
	what := "skill"
	if method == mcp.MethodDirectoryRead {
		what = "directory"
	}
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "no server has the %s %s", what, Clip(uri)).
		WithData(map[string]string{"uri": Clip(uri)})
}

// LegacyNotFound gives a modern server's "not found" the code of the legacy era.
func LegacyNotFound(e *jsonrpc.Error) *jsonrpc.Error {
	if e.Code != jsonrpc.CodeInvalidParams || jsonrpc.Get(e.Data, "uri") == nil {
		return e
	}
	return &jsonrpc.Error{Code: mcp.CodeResourceNotFound, Message: e.Message, Data: e.Data}
}

// NeedsTasks refuses a client that does not support tasks.
func NeedsTasks() *jsonrpc.Error {
	return jsonrpc.Errorf(mcp.CodeCapabilityMissing, "Missing required client capability").WithData(map[string]any{
		"requiredCapabilities": map[string]any{"extensions": map[string]any{mcp.TasksExtension: map[string]any{}}},
	})
}

// BadLevel refuses a log level in the words of mcps-proxy and mcpx, and lists the
// valid levels.
func BadLevel(raw []byte, given string, seed bool) *jsonrpc.Error {
	switch {
	case raw == nil:
		given = "undefined"
	case raw[0] != '"':
		given = Clip(string(raw))
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if seed {
		code = jsonrpc.CodeInternal
	}
	return jsonrpc.Errorf(code, "Invalid log level: %s. Valid levels are: debug, info, warn, error", Clip(given)).
		WithData(map[string]any{"validLevels": strings.Join(mcp.Levels(), ", ")})
}

// asResult returns a tool error with a text for the model.
func asResult(text string) []byte {
	b := append([]byte(`{"content":[{"type":"text","text":`), jsonrpc.Quote(text)...)
	return append(b, `}],"isError":true}`...)
}
