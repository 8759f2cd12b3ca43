package signature

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares the result for each testdata/dir/*.json with the file beside
// it.
func golden(t *testing.T, dir, ext string, run func(in []byte) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			in := []byte(must.Read(t, file))
			got := run(bytes.TrimSpace(in)) + "\n"
			path := filepath.Join("testdata", dir, name+ext)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := must.Read(t, path)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestSignatures(t *testing.T) {
	golden(t, "signature", ".ts", func(in []byte) string {
		ts, ok := Of(in)
		short := Short("tool", in)
		if !ok {
			return "not applied\n" + short
		}
		if len(ts) >= len(in) {
			t.Errorf("the type is larger: %d and %d bytes", len(ts), len(in))
		}
		return ts + "\n" + short
	})
	for _, bad := range []string{"", "{", `"x"`, "7", "null", `{"type":7}`, `{"type":"object","properties":{"a":7}}`} {
		if ts, ok := Of([]byte(bad)); ok {
			t.Errorf("%q became %q", bad, ts)
		}
	}
}
