package disk

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestFrom(t *testing.T) {
	dir := filepath.FromSlash("/home/me")
	rooted := filepath.FromSlash("/etc/x.json")
	if runtime.GOOS == "windows" {
		dir, rooted = `D:\home\me`, `D:\etc\x.json`
	}
	for path, want := range map[string]string{
		"x.json":                          filepath.Join(dir, "x.json"),
		filepath.FromSlash("../x.json"):   filepath.Join(filepath.Dir(dir), "x.json"),
		filepath.FromSlash("/etc/x.json"): rooted,
		rooted:                            rooted,
	} {
		if got := From(dir, path); got != want {
			t.Errorf("From(%q, %q) = %q, want %q", dir, path, got, want)
		}
	}
}
