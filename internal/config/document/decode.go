package document

import (
	"bytes"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 16 << 20

// Decode strips a byte order mark and refuses text that is not UTF-8.
func Decode(data []byte, c *problem.List) ([]byte, bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Encoding, "UTF-16")
		return nil, false
	case len(data) >= 2 && (data[0] == 0) != (data[1] == 0):
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Encoding, i18n.New("UTF-16 without a byte order mark", "无字节序标记的 UTF-16"))
		return nil, false
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			c.Add(problem.SeverityError, NewLines(data).Pos(i), "", problem.Encoding, i18n.New("byte 0x%02X", "字节 0x%02X", data[i]))
			return nil, false
		}
		i += size
	}
	if len(bytes.TrimSpace(data)) == 0 {
		c.Add(problem.SeverityError, problem.Pos{Line: 1, Col: 1}, "", problem.Empty)
		return nil, false
	}
	return data, true
}

// FormatOf determines the format from the file's name, or else from its first
// character.
func FormatOf(path string, data []byte) Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return FormatYAML
	case ".json", ".jsonc", ".json5":
		return FormatJSON
	case ".toml":
		return FormatTOML
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if tomlTable().Match(line) {
			return FormatTOML
		}
		if line[0] == '{' || line[0] == '[' || bytes.HasPrefix(line, []byte("//")) || bytes.HasPrefix(line, []byte("/*")) {
			return FormatJSON
		}
		return FormatYAML
	}
	return FormatJSON
}

// tomlTable matches the name of a table, which neither JSON nor YAML has alone
// on a line.
var tomlTable = lazy.Regexp(`^\[[A-Za-z_][\w.\-"]*\]$`)

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
