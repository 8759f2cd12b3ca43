package install

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestLargeBundles checks the size limits of a bundle, packed and unpacked.
func TestLargeBundles(t *testing.T) {
	t.Run("install/bad-bundle/packed size", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.mcpb")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		must.OK(t, file.Truncate(MaxPacked+1))
		refused(t, path, "it is larger than 256 MiB")
	})
	t.Run("install/bad-bundle/unpacked size", func(t *testing.T) {
		var buf bytes.Buffer
		w := zip.NewWriter(&buf)
		out, err := w.Create("manifest.json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, goodManifest); err != nil {
			t.Fatal(err)
		}
		const each = 300 << 20
		for i := range 4 {
			h := &zip.FileHeader{Name: fmt.Sprint("large", i), Method: zip.Deflate, CompressedSize64: each / 150, UncompressedSize64: each}
			out, err := w.CreateRaw(h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := out.Write(make([]byte, each/150)); err != nil {
				t.Fatal(err)
			}
		}
		must.OK(t, w.Close())
		refused(t, put(t, buf.Bytes()), "it is larger than 1024 MiB unpacked")
	})
}

// Untrusted texts are shown on one line, shortened, with invisible characters
// written as their numbers.
func TestHostileTexts(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"lines":     {"a\r\nb\nc\td", "a b c d"},
		"turned":    {"safe\u202egnp", "⟨U+202E⟩"},
		"zero":      {"a\u200bb", "⟨U+200B⟩"},
		"escape":    {"\x1b[2Jgone", "⟨U+001B⟩"},
		"tag":       {"x\U000e0041", "⟨U+E0041⟩"},
		"long":      {strings.Repeat("长", 400), strings.Repeat("长", 300) + "…"},
		"Markdown":  {"![x](http://evil.example/p.png)", "![x](http://evil.example/p.png)"},
		"two lines": {"yes\ny", "yes y"},
	} {
		t.Run("install/hostile/"+name, func(t *testing.T) {
			if got := Show(tt.text); !strings.Contains(got, tt.want) || strings.ContainsAny(got, "\n\r\x1b") {
				t.Errorf("it is %q", got)
			}
		})
	}
}

// An unreachable registry is an error, and the next one is not asked.
func TestRegistryDown(t *testing.T) {
	t.Run("install/bad-record/down", func(t *testing.T) {
		srv := httptest.NewServer(nil)
		srv.Close()
		_, err := opened(t, config.Registry{Name: "work", URL: srv.URL, Names: all}).Find(t.Context(), "a.b/c", "")
		if codeOf(err) != env.CodeRegistry || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("it is %v", err)
		}
	})
}
