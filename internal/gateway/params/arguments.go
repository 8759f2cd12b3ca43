package params

import (
	"maps"
	"slices"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// An ArgumentsError says why the arguments of a tool call are invalid.
type ArgumentsError struct {
	Wire       *jsonrpc.Error
	Violations jsonschema.Violations
}

func (e *ArgumentsError) Error() string { return e.Wire.Error() }

// In returns the message in a language.
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

// Fit checks arguments against the schema of their tool. mode is the configured
// value of validate. unseen is set if the model wrote the arguments without
// seeing the schema. A nil tool has no schema.
func Fit(tool *catalog.Item, arguments []byte, mode string, unseen bool) error {
	if tool == nil {
		return nil
	}
	switch {
	case unseen:
		return violation(tool, jsonrpc.AsObject(arguments))
	case mode == "off":
		return nil
	case arguments == nil:
		if len(tool.Required) == 0 {
			return nil
		}
		return &ArgumentsError{Wire: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params").
			WithData(map[string]string{"details": "Missing required parameter: arguments"})}
	}
	if name, missing := tool.MissingRequired(arguments); missing {
		return &ArgumentsError{Wire: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: Missing required parameter '%s'", name).
			WithData(map[string]string{"parameter": name})}
	}
	if mode == "full" {
		return violation(tool, arguments)
	}
	return nil
}

// violation checks arguments against the whole schema of a tool.
func violation(tool *catalog.Item, arguments []byte) error {
	found := tool.Validate(arguments)
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	return &ArgumentsError{Wire: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: %s", first.Message).
		WithData(map[string]any{"parameter": first.Path, "violations": found}), Violations: found}
}
