package probe

import (
	"encoding/json"
	"maps"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// PromptParams returns the params of prompts/get. Without arguments the member
// is omitted, because some servers refuse an empty one. An empty string is sent
// as an argument; the server decides about it.
func PromptParams(name string, args map[string]string) json.RawMessage {
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(name), "name")
	for _, key := range slices.Sorted(maps.Keys(args)) {
		params = jsonrpc.Set(params, jsonrpc.Quote(args[key]), "arguments", key)
	}
	return params
}

// TidyPrompt applies the same rule to given params: it removes arguments that
// are null, and the whole member if nothing is left.
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

// PromptArguments returns the arguments that a prompt declares.
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

// A MissingError means that a required argument is missing.
type MissingError struct{ Name string }

func (e *MissingError) Error() string { return e.In(i18n.English) }

// In returns the error in the given language.
func (e *MissingError) In(l i18n.Lang) string {
	return i18n.New("missing required argument %q", "缺少必需的参数 %q", e.Name).In(l)
}

// CheckPrompt reports a missing required argument before anything is sent. An
// empty string counts as given.
func CheckPrompt(declared []PromptArgument, args map[string]string) error {
	for _, a := range declared {
		if _, given := args[a.Name]; a.Required && !given {
			return &MissingError{Name: a.Name}
		}
	}
	return nil
}
