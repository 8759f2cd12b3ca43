package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(other, place); err != nil {
				t.Fatal(err)
			}
			_, _, err := Command(s, p)
			if want := place + " is a link to " + other; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("%v\nwant %s", err, want)
			}
			if made, _ := os.ReadDir(other); len(made) > 0 {
				t.Errorf("it made %v behind the link", made)
			}
			if err := os.Remove(place); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(place, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Command(s, p); err == nil || !strings.Contains(err.Error(), place+" is not a folder") {
				t.Errorf("a file: %v", err)
			}
		})
	}
	t.Run("install/own folder, state behind a link", func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "state")
		if err := os.Symlink(t.TempDir(), state); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Command(Server{ID: "default/s", State: state}, Program{Path: "/bin/true"}); err != nil {
			t.Error(err)
		}
	})
}
