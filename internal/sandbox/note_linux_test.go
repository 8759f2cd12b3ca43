//go:build amd64 || arm64

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// A server that is watched connects to unix sockets by an absolute path, a relative
// one and an abstract name. Sockets that are not there are not noted.
func TestNoteUnix(t *testing.T) {
	dir := shortDir(t)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	listenUnix(t, filepath.Join(dir, "s"))
	abstract := "@mcp-all-in-one-note-" + strconv.Itoa(os.Getpid())
	listenUnix(t, abstract)
	for name, want := range map[string]string{
		filepath.Join(dir, "s"): filepath.Join(dir, "s"), "s": filepath.Join(real, "s"), abstract: abstract,
		"none": "", filepath.Join(dir, "none"): "", abstract + "-none": "",
	} {
		path := must.Write(t, filepath.Join(t.TempDir(), "notes"), `{"call":"profile","profile":{}}`+"\n")
		if out, ok := run(t, Profile{Learn: path}, nil, dir, "attack", "unix", name); ok != (want != "") {
			t.Errorf("install/learn %s: reached %v: %s", name, ok, out)
		}
		_, list, err := readNotes(path)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if i := slices.IndexFunc(list, func(n Note) bool { return n.Call == noteUnix }); i >= 0 {
			got = list[i].What
		}
		if got != want {
			t.Errorf("install/learn %s: noted %q, want %q", name, got, want)
		}
	}
}
