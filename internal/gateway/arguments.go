package gateway

import (
	"maps"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
)

// ourArguments are the arguments of a tool that the configuration sets or hides.
type ourArguments map[string]config.Argument

// leftOut refuses a call with an argument that clients may not send.
func (ours ourArguments) leftOut(t *target) error {
	if len(ours) == 0 {
		return nil
	}
	for name := range jsonrpc.Members(t.arguments) {
		if ours[name].Ours() {
			return &argumentsError{wire: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid params: the gateway's configuration decides argument '%s'; leave it out", name).
				WithData(map[string]string{"parameter": name})}
		}
	}
	return nil
}

// complete adds the arguments that the configuration sets.
func (ours ourArguments) complete(t *target) {
	if len(ours) == 0 {
		return
	}
	all := jsonrpc.AsObject(t.arguments)
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		value := ours[name].Value
		if value == nil && jsonrpc.Get(all, name) == nil {
			value = ours[name].Default
		}
		if value != nil {
			all = jsonrpc.Set(all, value, name)
		}
	}
	t.params, t.arguments = jsonrpc.Set(t.params, all, "arguments"), all
}
