package edit

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

// FuzzLoad loads arbitrary data: the loader must not panic, must report the
// position of an error, and must read back what it writes.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(corpusDir, "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no corpus: %v", err)
	}
	for _, name := range files {
		f.Add([]byte(must.Read(f, name)), strings.HasSuffix(name, ".yaml"))
	}
	f.Add([]byte(jsonBefore), false)
	f.Add([]byte(yamlBefore), true)
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, yaml bool) {
		path := filepath.Join(home, "a.json")
		if yaml {
			path = filepath.Join(home, "a.yaml")
		}
		o := config.LoadOptions{Home: home, WorkDir: home, System: home, LookupEnv: func(string) (string, bool) { return "", false }}
		cfg, err := config.Check(path, data, o)
		if err != nil {
			expectPlaces(t, data, err)
			return
		}
		for _, schema := range cfg.Schemas {
			for _, s := range schema.Servers {
				if s.Name == "" || s.Line == 0 || s.Column == 0 {
					t.Errorf("server without a name or place: %+v", s)
				}
			}
		}
		expectEditable(t, data, cfg.Format)
	})
}

func expectPlaces(t *testing.T, data []byte, err error) {
	t.Helper()
	var le *problem.LoadError
	if !errors.As(err, &le) || le.Error() == "" {
		t.Fatalf("error = %T %v", err, err)
	}
	lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1 // a single \r ends a line in YAML
	for _, p := range le.Problems {
		if p.Line < 1 || p.Column < 1 || p.Line > lines {
			t.Errorf("no place in a file of %d lines: %+v", lines, p)
		}
		if p.Message == "" || p.MessageZH == "" {
			t.Errorf("no message: %+v", p)
		}
	}
}

// expectEditable adds a server to a valid file. That succeeds or is refused,
// but never writes another content than intended.
func expectEditable(t *testing.T, data []byte, format document.Format) {
	t.Helper()
	text, ok := document.Decode(data, &problem.List{})
	if !ok {
		t.Fatal("a file that loads cannot be decoded")
	}
	root := document.Parse(text, format, &problem.List{})
	d := &Draft{path: "x", format: format, data: data, old: root, root: root}
	schema := layout.Of(root, &problem.List{}).Schemas
	if len(schema) == 0 || d.SetServer(schema[0].Name, "fuzz-added", []byte(`{"command": "x", "args": ["a"]}`)) != nil {
		return
	}
	out, err := d.content()
	if errors.Is(err, document.ErrInPlace) {
		return
	}
	if err != nil {
		t.Fatalf("writing: %v", err)
	}
	again, ok := document.Decode(out, &problem.List{})
	if !ok {
		t.Fatal("what was written cannot be decoded")
	}
	if got := document.Parse(again, format, &problem.List{}); !got.Equal(d.root) {
		t.Errorf("written:\n%s", out)
	}
}
