package lock

import (
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// written returns a lock with entries. trees are the npm lock files of some of
// them.
func written(t *testing.T, servers map[string]*Entry, trees map[string]string) *File {
	t.Helper()
	f := &File{path: filepath.Join(t.TempDir(), "mcp.lock"), Servers: servers}
	for key, tree := range trees {
		must.Write(t, filepath.Join(f.Dir(key), "package-lock.json"), tree)
	}
	must.OK(t, f.Write())
	return f
}

// Another command locks while a person reads the differences.
func TestTakeMeanwhile(t *testing.T) {
	t.Parallel()
	start := func() (asked, other, staged *File) {
		f := written(t, map[string]*Entry{"a": {Level: LevelTree, NPM: "a@1.0.0"}}, nil)
		staged = written(t, map[string]*Entry{"a": {Level: LevelTree, NPM: "a@2.0.0"}}, map[string]string{"a": `{}`})
		asked, err := open(f.path)
		if err != nil {
			t.Fatal(err)
		}
		return asked, f, staged
	}
	t.Run("another server", func(t *testing.T) {
		asked, other, staged := start()
		other.Servers["b"] = &Entry{Level: LevelFile, Program: "sha256-1"}
		must.OK(t, other.Write())
		must.OK(t, asked.Take("a", staged, ""))
		now, err := open(other.path)
		if err != nil || now.Servers["b"] == nil || now.Servers["a"].NPM != "a@2.0.0" {
			t.Errorf("the lock has %v, %v", now.Servers, err)
		}
	})
	t.Run("this server", func(t *testing.T) {
		asked, other, staged := start()
		other.Servers["a"].NPM = "a@1.5.0"
		must.OK(t, other.Write())
		if err := asked.Take("a", staged, ""); err == nil || !strings.Contains(err.Error(), "a was locked again in the meantime") {
			t.Errorf("got %v", err)
		}
		now, err := open(other.path)
		if err != nil || now.Servers["a"].NPM != "a@1.5.0" {
			t.Errorf("the lock has %v, %v", now.Servers, err)
		}
	})
}

// Two concurrent commands have both read the lock before either writes it.
func TestPutMeanwhile(t *testing.T) {
	t.Parallel()
	one := written(t, map[string]*Entry{}, nil)
	two, err := open(one.path)
	if err != nil {
		t.Fatal(err)
	}
	for key, f := range map[string]*File{"a": one, "b": two} {
		must.OK(t, f.Put(key, &Entry{Level: LevelFile}))
	}
	if now, err := open(one.path); err != nil || now.Servers["a"] == nil || now.Servers["b"] == nil {
		t.Errorf("the lock has %v, %v", now.Servers, err)
	}
}

// Two packages with the same name and version are distinguished by their
// content.
func TestPinnedContent(t *testing.T) {
	t.Parallel()
	tree := func(integrity string) map[string]Pinned {
		t.Helper()
		f := written(t, map[string]*Entry{"a": {Level: LevelTree, NPM: "a@1.0.0"}},
			map[string]string{"a": `{"packages":{"":{},"node_modules/dep":{"version":"1.0.0","integrity":"` + integrity + `"}}}`})
		all, err := f.Pinned("a")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if a, b := tree("sha512-a")["dep"], tree("sha512-b")["dep"]; a == b || a.Version != "1.0.0" || b.Version != "1.0.0" {
		t.Errorf("got %v and %v", a, b)
	}
	f := written(t, map[string]*Entry{"p": {Level: LevelTree, PyPI: "p==1"}}, map[string]string{"p": ""})
	block := func(name, version, hash string) string {
		return "[[package]]\nname = \"" + name + "\"\nversion = \"" + version + "\"\nwheels = [\n    { url = \"u\", hash = \"sha256:" + hash + "\" },\n]\n\n"
	}
	must.Write(t, filepath.Join(f.Dir("p"), "uv.lock"), block("locked", "0", "0")+block("p", "1", "a")+block("q", "1", "b")+block("q", "2", "c"))
	all, err := f.Pinned("p")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Pinned{"1", `hash = "sha256:a"`}); len(all) != 2 || all["p"] != want {
		t.Errorf("got %v", all)
	}
	if want := (Pinned{"1, 2", `hash = "sha256:b" hash = "sha256:c"`}); all["q"] != want {
		t.Errorf("got %v", all["q"])
	}
}
