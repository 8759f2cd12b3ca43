package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/yosida95/uritemplate/v3"
)

// A Tool is a listed definition with its implementation.
type Tool struct {
	Definition string
	Run        func(ctx context.Context, c *Call) (any, error)
}

// A Resource is a definition with its content. While it has subscribers, it
// changes every Tick, if that is set.
type Resource struct {
	Definition string
	Read       func(ctx context.Context, c *Call, uri string) (any, error)
	Tick       time.Duration
}

// A Template is a definition with the content of the URIs that match it.
type Template struct {
	Definition string
	Read       func(ctx context.Context, c *Call, uri string) (any, error)
	Complete   Completer
}

// A Prompt is a definition with its messages.
type Prompt struct {
	Definition string
	Get        func(ctx context.Context, c *Call) (any, error)
	Complete   Completer
}

// A Completer proposes values of an argument; given holds the other arguments.
type Completer func(argument, value string, given map[string]string) []string

// Prefixed completes from a fixed list: it returns the values that begin with
// the typed text.
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

// member returns a string member of a definition. It returns "" for a
// definition that is invalid on purpose.
func member(definition, name string) string {
	var members map[string]json.RawMessage
	var value string
	if json.Unmarshal([]byte(definition), &members) == nil {
		_ = json.Unmarshal(members[name], &value)
	}
	return value
}

func (t Template) matches(uri string) bool {
	template, err := uritemplate.New(member(t.Definition, "uriTemplate"))
	return err == nil && template.Match(uri) != nil
}

// Text returns a tool result with one text block.
func Text(format string, args ...any) any {
	return map[string]any{"content": []any{textBlock(fmt.Sprintf(format, args...))}}
}

// Failure returns a tool result that describes an error.
func Failure(format string, args ...any) any {
	return map[string]any{"content": []any{textBlock(fmt.Sprintf(format, args...))}, "isError": true}
}

func textBlock(text string) any { return map[string]any{"type": "text", "text": text} }

// TextContents returns the result of reading a text resource.
func TextContents(uri, mimeType, text string) any {
	return map[string]any{"contents": []any{map[string]any{"uri": uri, "mimeType": mimeType, "text": text}}}
}

// UserMessage returns the result of a prompt with one message.
func UserMessage(description, format string, args ...any) any {
	return map[string]any{
		"description": description,
		"messages":    []any{map[string]any{"role": "user", "content": textBlock(fmt.Sprintf(format, args...))}},
	}
}

// An Extension is a named set of methods.
type Extension struct {
	// ID and Settings are its entry in the capabilities.
	ID       string
	Settings any
	Methods  map[string]func(context.Context, *Call) (any, error)
}

// SetExtensions replaces the extensions of the server.
func (s *Server) SetExtensions(list ...Extension) {
	s.features.mu.Lock()
	defer s.features.mu.Unlock()
	s.features.extensions = list
}

func (f *features) extensionMethod(method string) func(context.Context, *Call) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.extensions {
		if run := e.Methods[method]; run != nil {
			return run
		}
	}
	return nil
}

// extensionSettings returns the extensions member of the capabilities.
func (f *features) extensionSettings() map[string]any {
	out := make(map[string]any, len(f.extensions))
	for _, e := range f.extensions {
		out[e.ID] = e.Settings
	}
	return out
}
