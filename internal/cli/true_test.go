package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTrue runs the scripts about what a gateway reports: unread changes of its
// file, its servers, and what ended.
func TestTrue(t *testing.T) { runFolder(t, "true") }

// TestCode runs the scripts about script runs and stored results.
func TestCode(t *testing.T) { runFolder(t, "code") }

// runFolder runs the scripts of a folder; the names of the tests begin with the
// folder's name.
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
