package edit

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestLineBreaks edits files with Windows line breaks and a byte order mark:
// both are kept, and new lines have the same line breaks.
func TestLineBreaks(t *testing.T) {
	for name, text := range map[string]string{
		"mcp.json":  "{\n  // mine\n  \"mcpServers\": {\n    \"a\": {\"command\": \"ls\"}\n  }\n}\n",
		"mcp.yaml":  "# mine\nmcpServers:\n  a:\n    command: ls\n",
		"mark.json": "\ufeff{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"ls\"}\n  }\n}\n",
		"mark.yaml": "\ufeffmcpServers:\n  a:\n    command: ls\n",
	} {
		t.Run("true/15 "+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			before := strings.ReplaceAll(text, "\n", "\r\n")
			must.Write(t, path, before)
			if _, err := Update(path, WriteOptions{}, func(d *Draft) error {
				return d.SetServer("", "b", []byte(`{"command": "cat", "args": ["x"]}`))
			}); err != nil {
				t.Fatal(err)
			}
			updated := []byte(must.Read(t, path))
			format := document.FormatJSON
			if strings.HasSuffix(name, "yaml") {
				format = document.FormatYAML
			}
			member, err := SetMember([]byte(before), format, []byte(`{"command": "cat", "args": ["x"]}`), "mcpServers", "b")
			if err != nil {
				t.Fatal(err)
			}
			for how, out := range map[string][]byte{"Update": updated, "SetMember": member} {
				if n, crlf := bytes.Count(out, []byte("\n")), bytes.Count(out, []byte("\r\n")); n != crlf || n <= strings.Count(text, "\n") {
					t.Errorf("%s: %d of %d lines end with CRLF: %q", how, crlf, n, out)
				}
				if bytes.HasPrefix(out, document.BOM) != strings.HasPrefix(text, "\ufeff") {
					t.Errorf("%s: the byte order mark changed: %q", how, out)
				}
			}
		})
	}
}
