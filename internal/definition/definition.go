// Package definition checks the tool definitions of servers: whether they
// changed since their approval, whether they give orders to the model, and
// whether names look alike.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// Fingerprint returns the SHA-256 of a definition in canonical form: members in
// order, no white space, strings without needless escapes. Equivalent
// definitions have the same fingerprint; everything that a client could show
// counts.
func Fingerprint(definition []byte) string {
	sum := sha256.Sum256(jsonrpc.Canonical(definition))
	return hex.EncodeToString(sum[:])
}

// A Change is one difference between two definitions. Its values are JSON with
// every hidden character made visible; empty if there is no value.
type Change struct {
	// Path is the path of the value: inputSchema.properties.path.description.
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`
	Now  string `json:"now,omitempty"`
}

// Changes returns the differences between two definitions of one tool, in the
// order of the first; additions of the second come last.
func Changes(was, now []byte) []Change {
	before, order := leaves(was)
	after, later := leaves(now)
	var list []Change
	for _, path := range order {
		if !bytes.Equal(before[path], after[path]) {
			list = append(list, Change{i18n.Reveal(path), i18n.Reveal(string(before[path])), i18n.Reveal(string(after[path]))})
		}
	}
	for _, path := range later {
		if _, both := before[path]; !both {
			list = append(list, Change{i18n.Reveal(path), "", i18n.Reveal(string(after[path]))})
		}
	}
	return list
}

// leaves returns the scalar values of a definition by path, and the paths in
// order.
func leaves(raw []byte) (map[string][]byte, []string) {
	all := make(map[string][]byte)
	var order []string
	var walk func(path string, value []byte)
	walk = func(path string, value []byte) {
		parts := 0
		switch {
		case len(value) > 0 && value[0] == '{':
			for name, inner := range jsonrpc.Members(value) {
				walk(join(path, name), inner)
				parts++
			}
		case len(value) > 0 && value[0] == '[':
			for inner := range jsonrpc.Elements(value) {
				walk(path+"["+strconv.Itoa(parts)+"]", inner)
				parts++
			}
		}
		if parts == 0 {
			all[path] = jsonrpc.Canonical(value)
			order = append(order, path)
		}
	}
	walk("", raw)
	return all, order
}

func join(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]") {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
