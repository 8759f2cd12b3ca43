package config

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

// parse reads a file of either format; nil after it has reported why not.
func parse(data []byte, format Format, c *problem.List) *node {
	var n *node
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
