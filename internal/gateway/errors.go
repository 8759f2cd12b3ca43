package gateway

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A NotFoundError is a schema or server that was addressed and is not there.
type NotFoundError struct {
	Kind, Name string
	Known      []string
}

func (e *NotFoundError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *NotFoundError) In(l i18n.Lang) string {
	return i18n.New("%s '%s' not found or disabled; there is: %s", "%s '%s' 不存在或已停用；现有：%s", e.Kind, e.Name, strings.Join(e.Known, ", ")).In(l)
}

func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("gateway: encoding %T: %v", v, err))
	}
	return raw
}

func formatID(n uint64) string { return strconv.FormatUint(n, 10) }

// clip keeps an error from echoing more than a line of what was sent.
func clip(s string) string {
	if len(s) > 256 {
		return s[:256]
	}
	return s
}

// noTool is the error in the dialect of the source documents, or not.
func noTool(name string, miss *catalog.Miss, seed bool) *jsonrpc.Error {
	if miss.Kind == catalog.Ambiguous {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Tool '%s' is ambiguous", clip(name)).
			WithData(map[string]any{"tool": clip(name), "candidates": miss.Candidates})
	}
	code := int64(jsonrpc.CodeInvalidParams)
	if seed {
		code = jsonrpc.CodeMethodNotFound
	}
	return jsonrpc.Errorf(code, "Tool '%s' not found", clip(name)).WithData(map[string]string{"tool": clip(name)})
}

func promptNotFound(name string, miss *catalog.Miss) *jsonrpc.Error {
	if miss.Kind == catalog.Ambiguous {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Prompt '%s' is ambiguous", clip(name)).
			WithData(map[string]any{"prompt": clip(name), "candidates": miss.Candidates})
	}
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Prompt '%s' not found", clip(name)).
		WithData(map[string]string{"prompt": clip(name)})
}

func resourceNotFound(uri string, modern bool) *jsonrpc.Error {
	code := int64(mcp.CodeResourceNotFound)
	if modern {
		code = jsonrpc.CodeInvalidParams
	}
	return jsonrpc.Errorf(code, "Resource not found").WithData(map[string]string{"uri": clip(uri)})
}
