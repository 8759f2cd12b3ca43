package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestFolderBehindALink checks that a start does not follow a link that a server
// put in the place of its own folders.
func TestFolderBehindALink(t *testing.T) {
	for _, name := range []string{"home", "tmp", "."} {
		t.Run("install/own folder "+name, func(t *testing.T) {
			s := Server{ID: "default/s", State: t.TempDir()}
			p := Program{Path: "/bin/true"}
			if _, _, err := Command(s, p); err != nil {
				t.Fatal(err)
			}
			place := filepath.Join(s.Folder(), name)
			other := t.TempDir()
			must.OK(t, os.RemoveAll(place))
			must.OK(t, os.Symlink(other, place))
			_, _, err := Command(s, p)
			if want := place + " is a link to " + other; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("%v\nwant %s", err, want)
			}
			if made, _ := os.ReadDir(other); len(made) > 0 {
				t.Errorf("it made %v behind the link", made)
			}
			must.OK(t, os.Remove(place))
			must.Write(t, place, "")
			if _, _, err := Command(s, p); err == nil || !strings.Contains(err.Error(), place+" is not a folder") {
				t.Errorf("a file: %v", err)
			}
		})
	}
	t.Run("install/own folder, state behind a link", func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		must.OK(t, os.Symlink(t.TempDir(), state))
		if _, _, err := Command(Server{ID: "default/s", State: state}, Program{Path: "/bin/true"}); err != nil {
			t.Error(err)
		}
	})
}
