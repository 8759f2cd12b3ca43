// Package definition judges the definitions that servers give of their tools: whether
// they changed since somebody approved them, whether they give orders to the
// model, and whether names look alike.
package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// Fingerprint is the SHA-256 of a definition in canonical form: members in
// order, no white space, texts without needless escapes. What means the same
// has the same; everything that a client could be shown counts.
func Fingerprint(definition []byte) string {
	sum := sha256.Sum256(canonicalJSON(definition))
	return hex.EncodeToString(sum[:])
}

// canonicalJSON is one JSON value in the one form that it has. Numbers stay as
// they are written: 1 and 1.0 are two.
func canonicalJSON(raw []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// A Change is one place in which two definitions differ. Its values are JSON
// with every hidden character made visible; empty where there is none.
type Change struct {
	// Path leads to the place: inputSchema.properties.path.description.
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`
	Now  string `json:"now,omitempty"`
}

// Changes are the places in which two definitions of one tool differ, in the
// order of the first; what only the second has comes last.
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

// leaves are the values of a definition that have no parts, by their paths.
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
			all[path] = canonicalJSON(value)
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
