package jsonschema

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestSchemaSuite runs the official suite. Cases that need a document other
// than those of the drafts must be refused for that reason alone: a tool's
// schema never makes us fetch anything. If these documents are provided, all
// cases pass.
func TestSchemaSuite(t *testing.T) {
	base := mcptest.SchemaSuite(t)
	remotes := func(uri string) ([]byte, bool) {
		if path, ok := strings.CutPrefix(uri, "http://localhost:1234/"); ok {
			raw, err := os.ReadFile(filepath.Join(base, "remotes", filepath.FromSlash(path)))
			return raw, err == nil
		}
		return metaschema(uri)
	}
	for _, tt := range []struct {
		name, draft, dialect string
		known                func(string) ([]byte, bool)
		passed, refused      int
	}{
		{"draft7", "draft7", "http://json-schema.org/draft-07/schema#", metaschema, 890, 23},
		{"draft2020-12", "draft2020-12", "https://json-schema.org/draft/2020-12/schema", metaschema, 1055, 44},
		{"draft7 with the others at hand", "draft7", "http://json-schema.org/draft-07/schema#", remotes, 913, 0},
		{"draft2020-12 with the others at hand", "draft2020-12", "https://json-schema.org/draft/2020-12/schema", remotes, 1099, 0},
	} {
		t.Run("req/C-41/"+tt.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(base, tt.draft, "*.json"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no suite in %s: %v", base, err)
			}
			passed, refused := 0, 0
			for _, file := range files {
				raw := must.Read(t, file)
				var cases []mcptest.SchemaCase
				must.Parse(t, raw, &cases)
				for _, c := range cases {
					p, r := runSuiteCase(t, filepath.Base(file), tt.dialect, tt.known, c)
					passed += p
					refused += r
				}
			}
			if passed != tt.passed || refused != tt.refused {
				t.Errorf("passed %d, refused %d; want %d and %d", passed, refused, tt.passed, tt.refused)
			}
		})
	}
}

func runSuiteCase(t *testing.T, file, dialect string, known func(string) ([]byte, bool), c mcptest.SchemaCase) (passed, refused int) {
	schema, err := decode(c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if obj, ok := schema.(map[string]any); ok && obj["$schema"] == nil {
		obj["$schema"] = dialect
	}
	doc, err := compileWith(schema, known, false)
	if errors.Is(err, errNotFetched) {
		return 0, len(c.Tests)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", file, c.Description, err)
		return 0, 0
	}
	for _, test := range c.Tests {
		value, err := decode(test.Data)
		if err != nil {
			t.Fatal(err)
		}
		if found := doc.validate(value, maxWork); (found == nil) != test.Valid {
			t.Errorf("%s: %s: %s: valid = %v %v", file, c.Description, test.Description, found == nil, found)
			continue
		}
		passed++
	}
	return passed, 0
}
