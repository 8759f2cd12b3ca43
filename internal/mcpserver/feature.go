package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A Tool is a definition, as it is listed, with what it does.
type Tool struct {
	Definition string
	Run        func(ctx context.Context, c *Call) (any, error)
}

// A Resource is a definition with its content. While somebody subscribes to
// it, it changes every Tick, when that is set.
type Resource struct {
	Definition string
	Read       func(ctx context.Context, c *Call, uri string) (any, error)
	Tick       time.Duration
}

// A Template is a definition with the content of what matches it.
type Template struct {
	Definition string
	Read       func(ctx context.Context, c *Call, uri string) (any, error)
	Complete   Completer
}

// A Prompt is a definition with what it says.
type Prompt struct {
	Definition string
	Get        func(ctx context.Context, c *Call) (any, error)
	Complete   Completer
}

// A Completer proposes values of an argument; given holds the other arguments.
type Completer func(argument, value string, given map[string]string) []string

// Prefixed completes from a fixed list: the values that begin with what was
// typed.
func Prefixed(values ...string) Completer {
	return func(_, typed string, _ map[string]string) []string {
		var list []string
		for _, v := range values {
			if strings.HasPrefix(v, typed) {
				list = append(list, v)
			}
		}
		return list
	}
}

// member reads a string member of a definition. A definition that is wrong on
// purpose has none.
func member(definition, name string) string {
	var members map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(definition), &members) == nil {
		_ = json.Unmarshal(members[name], &value)
	}
	return value
}

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

func (t Template) matches(uri string) bool {
	pattern := variable.ReplaceAllString(regexp.QuoteMeta(member(t.Definition, "uriTemplate")), `[^/]+`)
	ok, err := regexp.MatchString("^"+pattern+"$", uri)
	return err == nil && ok
}

// Text is a tool result of one text block.
func Text(format string, args ...any) any {
	return map[string]any{"content": []any{textBlock(fmt.Sprintf(format, args...))}}
}

// Failure is a tool result that says what went wrong.
func Failure(format string, args ...any) any {
	return map[string]any{"content": []any{textBlock(fmt.Sprintf(format, args...))}, "isError": true}
}

func textBlock(text string) any { return map[string]any{"type": "text", "text": text} }

// TextContents is the result of reading a text resource.
func TextContents(uri, mimeType, text string) any {
	return map[string]any{"contents": []any{map[string]any{"uri": uri, "mimeType": mimeType, "text": text}}}
}

// UserMessage is the result of a prompt with one message.
func UserMessage(description, format string, args ...any) any {
	return map[string]any{
		"description": description,
		"messages":    []any{map[string]any{"role": "user", "content": textBlock(fmt.Sprintf(format, args...))}},
	}
}
