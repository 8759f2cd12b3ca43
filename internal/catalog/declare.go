package catalog

import (
	"fmt"
	"strings"

	"mcp-all-in-one/internal/catalog/signature"
	"mcp-all-in-one/internal/jsonrpc"
)

// Declaration returns a tool as a TypeScript function with the given name and
// description. A schema that cannot be fully expressed as a type follows as JSON Schema.
func Declaration(it *Item, name, about string) string {
	var b strings.Builder
	if about != "" {
		fmt.Fprintf(&b, "/** %s */\n", strings.ReplaceAll(about, "*/", `*\/`))
	}
	args := declared(it.InputSchema, "{}")
	mark := "?"
	if len(it.Required) > 0 {
		mark = ""
	}
	fmt.Fprintf(&b, "function %s(args%s: %s): Promise<%s>", name, mark, args, declared(it.OutputSchema, "unknown"))
	return b.String()
}

// declared returns a schema as a type. If the type is lossy, the schema follows
// in a comment.
func declared(schema []byte, otherwise string) string {
	if !jsonrpc.Valid(schema) {
		return otherwise
	}
	ts, lossy := signature.Type(schema)
	if lossy {
		return fmt.Sprintf("%s /* %s */", ts, strings.ReplaceAll(string(jsonrpc.Compact(nil, schema)), "*/", `*\/`))
	}
	return ts
}

// Identifier replaces the characters of a name that are invalid in identifiers
// with underscores.
func Identifier(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c != '_' && c != '$' && (c < '0' || c > '9' || i == 0) && (c|0x20 < 'a' || c|0x20 > 'z') && c < 0x80 {
			b[i] = '_'
		}
	}
	return string(b)
}
