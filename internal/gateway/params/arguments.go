package params

import (
	"maps"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// An ArgumentsError is what is wrong with the arguments of a tool.
type ArgumentsError struct {
	Wire       *jsonrpc.Error
	Violations jsonschema.Violations
}

func (e *ArgumentsError) Error() string { return e.Wire.Error() }

// In says it in a language.
func (e *ArgumentsError) In(l i18n.Lang) string {
	if len(e.Violations) > 0 {
		return e.Violations.In(l)
	}
	return e.Wire.Error()
}

func (e *ArgumentsError) Unwrap() []error { return []error{e.Wire, e.Violations} }

// Ours are the arguments of a tool that the configuration sets or hides.
type Ours map[string]config.Argument

// LeftOut refuses a call with an argument that clients may not send.
func (ours Ours) LeftOut(arguments []byte) error {
	if len(ours) == 0 {
		return nil
	}
	for name := range jsonrpc.Members(arguments) {
		if ours[name].Ours() {
			return &ArgumentsError{Wire: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: the gateway's configuration decides argument '%s'; leave it out", name).
				WithData(map[string]string{"parameter": name})}
		}
	}
	return nil
}

// Complete returns the parameters of a call and its arguments, with those that
// the configuration sets.
func (ours Ours) Complete(params, arguments []byte) (_, completed []byte) {
	if len(ours) == 0 {
		return params, arguments
	}
	completed = jsonrpc.AsObject(arguments)
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		value := ours[name].Value
		if value == nil && jsonrpc.Get(completed, name) == nil {
			value = ours[name].Default
		}
		if value != nil {
			completed = jsonrpc.Set(completed, value, name)
		}
	}
	return jsonrpc.Set(params, completed, "arguments"), completed
}
