package mcpserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcp-all-in-one/internal/mcp"
)

// Demo returns a server with one feature of each kind, which the demo command
// serves.
func Demo() *Server {
	s := New("demo")
	s.Instructions = "A demonstration server: try echo, long_task and ask_name."
	s.SetTools(DemoTools()...)
	s.SetResources(demoResources()...)
	s.SetTemplates(Template{
		Definition: `{"uriTemplate":"demo://text/{id}","name":"text","description":"A text by its number","mimeType":"text/plain"}`,
		Read:       readText,
		Complete:   Prefixed(textNumbers()...),
	})
	s.SetPrompts(demoPrompts()...)
	return s
}

// texts is the number of texts that the demo lists.
const texts = 3

func textNumbers() []string {
	var list []string
	for i := range texts {
		list = append(list, fmt.Sprint(i+1))
	}
	return list
}

func demoResources() []Resource {
	var list []Resource
	for _, id := range textNumbers() {
		list = append(list, Resource{
			Definition: fmt.Sprintf(`{"uri":"demo://text/%s","name":"text %[1]s","description":"Text number %[1]s","mimeType":"text/plain"}`, id),
			Read:       readText,
		})
	}
	list = append(list, Resource{
		Definition: `{"uri":"demo://binary/1","name":"pixel","description":"A binary resource","mimeType":"image/png"}`,
		Read: func(_ context.Context, _ *Call, uri string) (any, error) {
			blob := map[string]any{"uri": uri, "mimeType": "image/png", "blob": pixelPNG}
			return map[string]any{"contents": []any{blob}}, nil
		},
	}, Resource{
		Definition: `{"uri":"demo://clock","name":"clock","description":"The time; subscribe to be told every second","mimeType":"text/plain"}`,
		Read: func(_ context.Context, _ *Call, uri string) (any, error) {
			return TextContents(uri, "text/plain", time.Now().UTC().Format(time.RFC3339)), nil
		},
		Tick: time.Second,
	})
	return list
}

func readText(_ context.Context, _ *Call, uri string) (any, error) {
	return TextContents(uri, "text/plain", "This is text number "+strings.TrimPrefix(uri, "demo://text/")+"."), nil
}

func demoPrompts() []Prompt {
	return []Prompt{{
		Definition: `{"name":"greeting","description":"A friendly greeting"}`,
		Get: func(context.Context, *Call) (any, error) {
			return UserMessage("A friendly greeting", "Say hello to me."), nil
		},
	}, {
		Definition: `{"name":"summarize","description":"Summarize a text","arguments":[` +
			`{"name":"text","description":"What to summarize","required":true},` +
			`{"name":"style","description":"How to write it","required":false}]}`,
		Get: func(_ context.Context, c *Call) (any, error) {
			var args struct{ Text, Style string }
			if err := c.Bind(&args); err != nil {
				return nil, err
			}
			if args.Text == "" {
				return nil, missing("text")
			}
			args.Style = cmp.Or(args.Style, "plain")
			return UserMessage("Summarize a text", "Summarize this in a %s style:\n%s", args.Style, args.Text), nil
		},
		Complete: func(argument, typed string, _ map[string]string) []string {
			if argument != "style" {
				return nil
			}
			return Prefixed("formal", "funny", "plain", "poetic")(argument, typed, nil)
		},
	}}
}

// pixelPNG is a picture of one pixel, pingWAV a sound of one sample.
const pixelPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChAI9jU77yQAAAABJRU5ErkJggg=="

var pingWAV = base64.StdEncoding.EncodeToString([]byte(
	"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"))

// elicitedName parses a client's answer to the question of ask_name.
func elicitedName(answer json.RawMessage) (name, action string) {
	var result struct {
		Action  string
		Content struct{ Name string }
	}
	_ = json.Unmarshal(answer, &result) // without an action, the empty action is shown
	return result.Content.Name, result.Action
}

// sampledText returns the text of a model's answer, in the formats of all
// versions.
func sampledText(answer json.RawMessage) (text, model string) {
	var result struct {
		Model   string
		Content json.RawMessage
	}
	_ = json.Unmarshal(answer, &result)
	var one struct{ Text string }
	var many []struct{ Text string }
	if json.Unmarshal(result.Content, &one) == nil {
		return one.Text, result.Model
	}
	if json.Unmarshal(result.Content, &many) == nil && len(many) > 0 {
		return many[0].Text, result.Model
	}
	return "", result.Model
}

// nameQuestion is the form of ask_name.
var nameQuestion = map[string]any{
	"message": "What is your name?",
	"requestedSchema": map[string]any{
		"type":       "object",
		"properties": map[string]any{"name": map[string]any{"type": "string", "title": "Name", "minLength": 1}},
		"required":   []string{"name"},
	},
}

func modelQuestion(prompt string) any {
	return map[string]any{
		"messages":  []any{map[string]any{"role": "user", "content": textBlock(prompt)}},
		"maxTokens": 100,
	}
}

// LegacyVersions and ModernVersions list the versions of each era, for
// Server.Versions.
var (
	LegacyVersions = mcp.Versions(mcp.Legacy)
	ModernVersions = mcp.Versions(mcp.Modern)
)
