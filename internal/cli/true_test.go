package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestTrue runs the scripts about what a gateway says of itself: the file that
// it has not read, the servers that it runs, what it shows and what ended.
func TestTrue(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "true", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run("true/"+strings.ReplaceAll(name, "_", " "), func(t *testing.T) {
			testscript.Run(t, scriptParams(t, "", file))
		})
	}
}
