package probe

import (
	"encoding/json"
	"maps"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// PromptParams are the params of prompts/get. Without arguments the member is
// left out, since some servers refuse an empty one; an argument that is an
// empty string is an argument, and the server decides about it.
func PromptParams(name string, args map[string]string) json.RawMessage {
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
	for _, key := range slices.Sorted(maps.Keys(args)) {
		params = jsonrpc.Set(params, jsonrpc.Quote(args[key]), "arguments", key)
	}
	return params
}

// TidyPrompt applies the same rule to params that somebody else has written:
// arguments that are null are left out, and the whole member when nothing is
// left.
func TidyPrompt(params json.RawMessage) json.RawMessage {
	arguments := jsonrpc.Get(params, "arguments")
	given := false
	for name, value := range jsonrpc.Members(arguments) {
		if string(value) == "null" {
			params = jsonrpc.Set(params, nil, "arguments", name)
		} else {
			given = true
		}
	}
	if !given && arguments != nil {
		params = jsonrpc.Set(params, nil, "arguments")
	}
	return params
}

// A PromptArgument is one argument that a prompt declares.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// PromptArguments reads the arguments that a prompt declares.
func PromptArguments(prompt []byte) []PromptArgument {
	var list []PromptArgument
	for raw := range jsonrpc.Elements(jsonrpc.Get(prompt, "arguments")) {
		var a PromptArgument
		if json.Unmarshal(raw, &a) == nil && a.Name != "" {
			list = append(list, a)
		}
	}
	return list
}

// A MissingError is a required argument that was not given.
type MissingError struct{ Name string }

func (e *MissingError) Error() string { return e.In(i18n.English) }

// In says it in a language.
func (e *MissingError) In(l i18n.Lang) string {
	return i18n.New("missing required argument %q", "缺少必需的参数 %q", e.Name).In(l)
}

// CheckPrompt says which required argument is missing, before anything is
// sent. An empty string that somebody gave on purpose is not missing.
func CheckPrompt(declared []PromptArgument, args map[string]string) error {
	for _, a := range declared {
		if _, given := args[a.Name]; a.Required && !given {
			return &MissingError{Name: a.Name}
		}
	}
	return nil
}
