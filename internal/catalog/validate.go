package catalog

import (
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// MissingRequired finds the first required argument that is missing in args. If
// there are no arguments at all (nil or null), param is empty.
func (it *Item) MissingRequired(args []byte) (param string, missing bool) {
	if len(it.Required) == 0 {
		return "", false
	}
	if len(args) == 0 || args[0] == 'n' {
		return "", true
	}
	var small [4]uint64
	have := small[:]
	if n := len(it.Required)/64 + 1; n > len(small) {
		have = make([]uint64, n)
	}
	for name := range jsonrpc.Members(args) {
		for i, want := range it.Required {
			if name == want {
				have[i/64] |= 1 << (i % 64)
			}
		}
	}
	for i, want := range it.Required {
		if have[i/64]&(1<<(i%64)) == 0 {
			return want, true
		}
	}
	return "", false
}

// Unvalidated returns why a tool's arguments cannot be validated against its
// schema; nil if they can.
func (it *Item) Unvalidated() error { return it.compiled().Err(it.InputSchema) }

// Validate validates the arguments of a call against the tool's input schema;
// nil arguments count as {}.
func (it *Item) Validate(args []byte) []jsonschema.Violation {
	return it.compiled().Validate(it.InputSchema, args)
}

func (it *Item) compiled() *jsonschema.Schema {
	if it.rules == nil {
		return &jsonschema.Schema{}
	}
	return it.rules
}
