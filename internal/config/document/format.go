package document

import (
	"bytes"

	"mcp-all-in-one/internal/config/problem"
)

// A Format is the syntax of a file.
type Format string

// The formats. JSON with comments and trailing commas is JSON here.
const (
	FormatJSON Format = "json"
	FormatYAML Format = "yaml"
)

// Parse reads a file of either format; nil after it has reported why not.
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
