package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest"
)

// corpusServer has tools whose schemas are hard for forms, and the prompts of
// the six cases of the prompt tester.
func corpusServer() *mcptest.Server {
	s := mcptest.New("corpus")
	echo := func(_ context.Context, c *mcptest.Call) (any, error) {
		args := c.Arguments
		if args == nil {
			args = json.RawMessage("null")
		}
		return mcptest.Text("%s", args), nil
	}
	var tools []mcptest.Tool
	for name, schema := range corpusSchemas {
		tools = append(tools, mcptest.Tool{Definition: fmt.Sprintf(`{"name":%q,"description":"Echo the arguments of a form","inputSchema":%s}`, name, schema), Run: echo})
	}
	tools = append(tools, mcptest.Tool{
		Definition: `{"name":"large","description":"A result of the given size","inputSchema":{"type":"object","properties":{"megabytes":{"type":"integer","default":6}}}}`,
		Run:        largeResult,
	})
	s.SetTools(tools...)
	s.SetPrompts(corpusPrompts()...)
	return s
}

var corpusSchemas = map[string]string{
	"form_simple": `{"type":"object","properties":{"query":{"type":"string","description":"What to look for","minLength":1},"sort":{"type":"string","enum":["created","updated"]},"per_page":{"type":"integer","minimum":1,"maximum":100,"default":30},"labels":{"type":"array","items":{"type":"string"}},"deep":{"type":"boolean"}},"required":["query"]}`,
	"form_union":  `{"type":"object","properties":{"range":{"anyOf":[{"title":"dates","type":"object","properties":{"from":{"type":"string","format":"date"},"to":{"type":"string","format":"date"}},"required":["from"]},{"title":"days","type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}]},"note":{"type":["string","null"]}},"required":["range"]}`,
	"form_tree":   `{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"required":["root"],"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}}}`,
	"form_big":    `{"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"object","additionalProperties":{"type":"string"}}},"required":["id"]}`,
	"form_choice": `{"oneOf":[{"title":"by id","type":"object","properties":{"kind":{"const":"id"},"id":{"type":"integer"}},"required":["kind","id"]},{"title":"by name","type":"object","properties":{"kind":{"const":"name"},"name":{"type":"string"}},"required":["kind","name"]}]}`,
}

func largeResult(_ context.Context, c *mcptest.Call) (any, error) {
	args := struct{ Megabytes int }{6}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := 0; b.Len() < args.Megabytes<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"number":%d,"title":"issue %d","state":"open","labels":["bug","p1"],"user":{"login":"octocat","id":9007199254740993}}`, i, i)
	}
	b.WriteString(`]}`)
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": "see structuredContent"}},
		"structuredContent": json.RawMessage(b.String())}, nil
}

// corpusPrompts answer with the arguments member they got, so that a test can
// see what was sent.
func corpusPrompts() []mcptest.Prompt {
	shown := func(required ...string) func(context.Context, *mcptest.Call) (any, error) {
		return func(_ context.Context, c *mcptest.Call) (any, error) {
			if string(c.Arguments) == "{}" {
				return nil, &jsonrpc.Error{Code: 0, Message: "Missing required arguments"}
			}
			for _, name := range required {
				if jsonrpc.Get(c.Arguments, name) == nil {
					return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Missing required arguments: %s", name)
				}
			}
			return mcptest.UserMessage("what was sent", "arguments: %s", orAbsent(c.Arguments)), nil
		}
	}
	return []mcptest.Prompt{
		{Definition: `{"name":"plain","description":"No arguments"}`, Get: shown()},
		{Definition: `{"name":"optional","arguments":[{"name":"topic"}]}`, Get: shown()},
		{Definition: `{"name":"required","arguments":[{"name":"topic","required":true}]}`, Get: shown("topic")},
		{Definition: `{"name":"mixed","arguments":[{"name":"topic","required":true},{"name":"tone"}]}`, Get: shown("topic")},
	}
}

func orAbsent(args json.RawMessage) string {
	if args == nil {
		return "absent"
	}
	return string(args)
}
