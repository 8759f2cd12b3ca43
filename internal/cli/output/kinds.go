package output

import (
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/catalog/signature"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

var AllKinds = []catalog.Kind{catalog.Tools, catalog.Resources, catalog.Templates, catalog.Prompts}

var KindWords = map[string]catalog.Kind{
	"tools": catalog.Tools, "resources": catalog.Resources, "templates": catalog.Templates, "prompts": catalog.Prompts,
}

// ItemSignature returns an item on one line.
func ItemSignature(k catalog.Kind, it *catalog.Item) string {
	switch k {
	case catalog.Tools:
		text := signature.Short(it.Name, it.InputSchema)
		if it.ReadOnly() {
			text += " [read]"
		} else if string(jsonrpc.Get(it.Annotations, "destructiveHint")) == "true" {
			text += " [destructive]"
		}
		return text
	case catalog.Prompts:
		var args []string
		for _, arg := range probe.PromptArguments(it.Raw) {
			if !arg.Required {
				arg.Name += "?"
			}
			args = append(args, arg.Name)
		}
		return it.Name + "(" + strings.Join(args, ", ") + ")"
	}
	return it.Key
}
