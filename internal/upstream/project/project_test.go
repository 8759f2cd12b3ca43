package project_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"mcp-all-in-one/internal/upstream/project"
)

func roots(uris ...string) []byte {
	var list []string
	for i, uri := range uris {
		list = append(list, fmt.Sprintf(`{"uri":%q,"name":"root %d"}`, uri, i))
	}
	return []byte(`{"roots":[` + strings.Join(list, ",") + `]}`)
}

// One folder is one project, however the client writes its URI.
func TestID(t *testing.T) {
	same := [][]byte{
		roots("file:///work/a b"), roots("file:///work/a%20b/"), roots("file://localhost/work/./x/../a%20b"), roots("FILE:/work//a%20b"),
		[]byte(`{"roots":[{"uri":"file:///work/a%20b"}]}`),
	}
	for _, r := range same {
		if got, want := project.Of(r).ID(), project.Of(same[0]).ID(); got != want {
			t.Errorf("%s: %q, want %q", r, got, want)
		}
	}
	if a, b := project.Of(roots("file:///c%3A/work")), project.Of(roots("file:///C:/work")); a.ID() != b.ID() {
		t.Errorf("%q and %q", a.ID(), b.ID())
	}
	seen := map[string]string{}
	for _, r := range [][]byte{
		roots("file:///work/a"), roots("file:///work/A"), roots("file:///work"), roots("file://host/work/a"),
		roots("file:///work/a", "file:///work/b"), roots("file:///work/b", "file:///work/a"), roots("https://h/", "file:///work/a"),
		roots("file:///work/a%0Afile:///work/b"),
	} {
		id := project.Of(r).ID()
		if was := seen[id]; was != "" || id == "" {
			t.Errorf("%s is the project of %q", r, was)
		}
		seen[id] = string(r)
	}
}

func TestFolder(t *testing.T) {
	unix := map[string]string{"file:///work/a%20b/": "/work/a b", "file:///": "/", "file:///work/../etc": "/etc", "file://host/work": ""}
	windows := map[string]string{"file:///c%3A/work/": `C:\work`, "file:///work": "", "file://host/work": ""}
	for uri, want := range map[bool]map[string]string{false: unix, true: windows}[runtime.GOOS == "windows"] {
		if got := project.Of(roots(uri)).Folder; got != want {
			t.Errorf("%s is %q, want %q", uri, got, want)
		}
	}
	if runtime.GOOS != "windows" {
		// The first folder counts, even if commands cannot start in it.
		for uris, want := range map[string]string{"https://h/ file:///a file:///b": "/a", "file://h/a file:///b": ""} {
			if got := project.Of(roots(strings.Fields(uris)...)).Folder; got != want {
				t.Errorf("%s is %q, want %q", uris, got, want)
			}
		}
	}
}

func TestNoProject(t *testing.T) {
	for _, r := range []string{``, `{}`, `[]`, `{"roots":[]}`, `{"roots":{}}`, `{"roots":[1,{"uri":2}]}`, string(roots("https://h/a")), string(roots("file:relative")), string(roots("file:///%zz"))} {
		if p := project.Of([]byte(r)); p != nil || p.ID() != "" {
			t.Errorf("%q is %+v", r, p)
		}
	}
}
