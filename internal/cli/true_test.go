package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTrue runs the scripts about what a gateway says of itself: the file that
// it has not read, the servers that it runs, what it shows and what ended.
func TestTrue(t *testing.T) { runFolder(t, "true") }

// TestCode runs those about scripts and kept results.
func TestCode(t *testing.T) { runFolder(t, "code") }

// runFolder runs the scripts of a folder; the names of their tests begin with
// its name.
func runFolder(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(folder+"/"+strings.ReplaceAll(name, "_", " "), func(t *testing.T) {
			testscript.Run(t, scriptParams(t, "", file))
		})
	}
}
