package document

import (
	"bytes"

	"mcp-all-in-one/internal/config/problem"
)

// A Format is the syntax of a file.
type Format string

// The formats. FormatJSON allows comments and trailing commas.
const (
	FormatJSON Format = "json"
	FormatYAML Format = "yaml"
)

// Parse parses a file in either format. It returns nil if it has reported an
// error.
func Parse(data []byte, format Format, c *problem.List) *Node {
	var n *Node
	if format == FormatYAML {
		n = parseYAML(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), c)
	} else {
		n = parseJSON(data, c)
	}
	if c.Failed() {
		return nil
	}
	return n
}
