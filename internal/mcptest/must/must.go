// Package must takes the steps that a test cannot do without: files, JSON,
// listeners. A step that fails ends the test.
package must

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Write writes a file that only its owner can read, and the folders it is in.
// It returns the path.
func Write[S ~string | ~[]byte](t testing.TB, path string, content S) string {
	t.Helper()
	return write(t, path, []byte(content), 0o600)
}

// Program writes a file that can be executed, and the folders it is in. It
// returns the path.
func Program[S ~string | ~[]byte](t testing.TB, path string, content S) string {
	t.Helper()
	return write(t, path, []byte(content), 0o700)
}

func write(t testing.TB, path string, content []byte, mode os.FileMode) string {
	t.Helper()
	Folder(t, filepath.Dir(path))
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Folder makes a folder and those it is in, and returns its path.
func Folder(t testing.TB, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// RealFolder returns a temporary folder without symbolic links, as processes see it.
func RealFolder(t testing.TB) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// OK ends the test unless err is nil.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Parse reads JSON into a value.
func Parse[S ~string | ~[]byte](t testing.TB, text S, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %.500s", err, text)
	}
}

// JSON returns a value as JSON.
func JSON(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Contain reports each part that a text lacks; the test goes on.
func Contain(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}
