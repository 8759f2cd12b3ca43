// Command corpus is an MCP server for the browser tests. It has tools whose
// schemas are hard for forms, large results, and the prompts of the six cases
// of the prompt tester.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcpserver"
)

func main() {
	fmt.Fprintln(os.Stderr, "corpus is listening")
	if err := server().ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func server() *mcpserver.Server {
	s := mcpserver.New("corpus")
	var tools []mcpserver.Tool
	for _, f := range forms {
		tools = append(tools, mcpserver.Tool{Definition: fmt.Sprintf(
			`{"name":%q,"description":"Echo the arguments of a form","inputSchema":%s,"annotations":{"readOnlyHint":true}}`, f.name, f.schema), Run: echo})
	}
	tools = append(tools, mcpserver.Tool{
		Definition: `{"name":"large","description":"A result of the given size","inputSchema":{"type":"object","properties":{"megabytes":{"type":"integer","default":6}}}}`,
		Run:        large,
	}, mcpserver.Tool{
		Definition: `{"name":"links","description":"Every kind of content","inputSchema":{"type":"object"}}`,
		Run:        links,
	}, mcpserver.Tool{
		Definition: `{"name":"ask_defaults","description":"Ask with defaults","inputSchema":{"type":"object"}}`,
		Run:        defaults,
	}, mcpserver.Tool{
		Definition: `{"name":"delete_everything","description":"Destroys nothing, says it does","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}`,
		Run:        echo,
	})
	s.SetTools(tools...)
	s.SetPrompts(prompts()...)
	skills(s)
	return s
}

// skills gives the server two skills; the digest of one file is wrong.
func skills(s *mcpserver.Server) {
	type file struct{ path, text string }
	all := map[string][]file{
		"refunds":  {{"SKILL.md", "---\nname: refunds\ndescription: How to refund an order\n---\n\n# Refunds\n\nSee templates/letter.md.\n"}, {"templates/letter.md", "Dear customer,\n"}},
		"tampered": {{"SKILL.md", "---\nname: tampered\ndescription: A file that is not what it was\n---\n"}},
	}
	var list []any
	var resources []mcpserver.Resource
	for _, name := range []string{"refunds", "tampered"} {
		var files []any
		for _, f := range all[name] {
			uri := "skill://" + name + "/" + f.path
			sum := sha256.Sum256([]byte(f.text))
			if name == "tampered" {
				sum[0] ^= 1
			}
			files = append(files, map[string]any{"uri": uri, "digest": fmt.Sprintf("sha256:%x", sum), "size": len(f.text)})
			resources = append(resources, mcpserver.Resource{Definition: fmt.Sprintf(`{"uri":%q,"name":%q,"mimeType":"text/markdown"}`, uri, f.path),
				Read: func(_ context.Context, _ *mcpserver.Call, uri string) (any, error) {
					return map[string]any{"contents": []any{map[string]any{"uri": uri, "mimeType": "text/markdown", "text": f.text}}}, nil
				}})
		}
		_, about, _ := strings.Cut(all[name][0].text, "description: ")
		about, _, _ = strings.Cut(about, "\n")
		list = append(list, map[string]any{"uri": "skill://" + name + "/SKILL.md", "frontmatter": map[string]any{"name": name, "description": about}, "resources": files})
	}
	s.SetResources(resources...)
	s.SetExtensions(mcpserver.Extension{ID: "io.modelcontextprotocol/skills", Settings: map[string]any{}, Methods: map[string]func(context.Context, *mcpserver.Call) (any, error){
		"skills/list": func(context.Context, *mcpserver.Call) (any, error) { return map[string]any{"skills": list}, nil },
	}})
}

// forms are tools whose result is the JSON of their arguments.
var forms = []struct{ name, schema string }{
	{"form_simple", `{"type":"object","properties":{"query":{"type":"string","description":"What to look for","minLength":1},"sort":{"type":"string","enum":["created","updated"]},"per_page":{"type":"integer","minimum":1,"maximum":100,"default":30},"labels":{"type":"array","items":{"type":"string"}},"deep":{"type":"boolean"}},"required":["query"]}`},
	{"form_union", `{"type":"object","properties":{"range":{"anyOf":[{"title":"dates","type":"object","properties":{"from":{"type":"string","format":"date"},"to":{"type":"string","format":"date"}},"required":["from"]},{"title":"days","type":"object","properties":{"days":{"type":"integer"}},"required":["days"]}]},"note":{"type":["string","null"]}},"required":["range"]}`},
	{"form_tree", `{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"required":["root"],"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name"]}}}`},
	{"form_chain", `{"type":"object","properties":{"first":{"$ref":"#/$defs/Node"}},"required":["first"],"$defs":{"Node":{"type":"object","properties":{"value":{"type":"string"},"next":{"$ref":"#/$defs/Node"},"other":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]}},"required":["value","next"]}}}`},
	{"form_web", web(12)},
	{"form_big", `{"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"object","additionalProperties":{"type":"string"}}},"required":["id"]}`},
	{"form_choice", `{"oneOf":[{"title":"by id","type":"object","properties":{"kind":{"const":"id"},"id":{"type":"integer"}},"required":["kind","id"]},{"title":"by name","type":"object","properties":{"kind":{"const":"name"},"name":{"type":"string"}},"required":["kind","name"]}]}`},
}

// web returns a schema of n types that all contain one another.
func web(n int) string {
	var defs, props strings.Builder
	for i := range n {
		fmt.Fprintf(&props, `"p%d":{"$ref":"#/$defs/T%d"},`, i, i)
	}
	for i := range n {
		fmt.Fprintf(&defs, `"T%d":{"type":"object","properties":{%s"leaf":{"type":"string"}}},`, i, props.String())
	}
	return fmt.Sprintf(`{"type":"object","properties":{%s"leaf":{"type":"string"}},"$defs":{%s"end":{}}}`, props.String(), defs.String())
}

// defaults asks with a default for every kind of field, and returns the answer.
func defaults(ctx context.Context, c *mcpserver.Call) (any, error) {
	answer, err := c.Ask(ctx, "plan", "elicitation/create", map[string]any{"message": "How should I continue?",
		"requestedSchema": json.RawMessage(`{"type":"object","properties":{"mode":{"type":"string","enum":["sample","whole"],"default":"sample"},"max_cost":{"type":"number","default":2},"notify":{"type":"string","default":"team@example.com"},"dry_run":{"type":"boolean","default":true},"verbose":{"type":"boolean"}},"required":["mode"]}`)})
	if err != nil {
		return nil, err
	}
	return mcpserver.Text("%s", jsonrpc.Get(answer, "content")), nil
}

func echo(_ context.Context, c *mcpserver.Call) (any, error) {
	args := c.Arguments
	if args == nil {
		args = json.RawMessage("null")
	}
	return mcpserver.Text("%s", args), nil
}

func large(_ context.Context, c *mcpserver.Call) (any, error) {
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

func links(context.Context, *mcpserver.Call) (any, error) {
	return map[string]any{"content": []any{
		map[string]any{"type": "text", "text": "# Title\n\n- one\n- **two** with `code`\n\n[link](https://example.com/)"},
		map[string]any{"type": "resource_link", "uri": "demo://text/1", "name": "text 1", "mimeType": "text/plain"},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "demo://text/2", "mimeType": "application/json", "text": `{"embedded":true}`}},
		map[string]any{"type": "hologram", "data": "unknown kinds are shown as they are"},
	}}, nil
}

// prompts answer with the arguments member that they got, so that a test can
// see what was sent.
func prompts() []mcpserver.Prompt {
	shown := func(required ...string) func(context.Context, *mcpserver.Call) (any, error) {
		return func(_ context.Context, c *mcpserver.Call) (any, error) {
			if string(c.Arguments) == "{}" {
				return nil, &jsonrpc.Error{Code: 0, Message: "Missing required arguments"}
			}
			for _, name := range required {
				if jsonrpc.Get(c.Arguments, name) == nil {
					return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Missing required arguments: %s", name)
				}
			}
			sent := "absent"
			if c.Arguments != nil {
				sent = string(c.Arguments)
			}
			return mcpserver.UserMessage("what was sent", "arguments: %s", sent), nil
		}
	}
	return []mcpserver.Prompt{
		{Definition: `{"name":"plain","description":"No arguments"}`, Get: shown()},
		{Definition: `{"name":"optional","arguments":[{"name":"topic"}]}`, Get: shown()},
		{Definition: `{"name":"required","arguments":[{"name":"topic","required":true}]}`, Get: shown("topic")},
		{Definition: `{"name":"mixed","arguments":[{"name":"topic","required":true},{"name":"tone"}]}`, Get: shown("topic")},
		{Definition: `{"name":"broken","description":"Always refuses"}`, Get: func(context.Context, *mcpserver.Call) (any, error) {
			return nil, &jsonrpc.Error{Code: 0, Message: "Missing required arguments"}
		}},
	}
}
