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
	FormatTOML Format = "toml" // known, so that it can be refused by name
)

// Parse parses a file in either format. It returns nil if it has reported an
// error.
func Parse(data []byte, format Format, c *problem.List) *Node {
	var n *Node
	switch format {
	case FormatTOML:
		c.Add(problem.SeverityError, problem.Pos{}, "", problem.Format, "TOML")
	case FormatYAML:
		n = parseYAML(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), c)
	default:
		n = parseJSON(data, c)
	}
	if c.Failed() {
		return nil
	}
	return n
}
