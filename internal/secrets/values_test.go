package secrets

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestValues(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := NewValues(dir), NewValues(dir) // two processes
	if _, err := ours.Get("key:ann", "hub"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get of nothing = %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("reading created %v", entries)
	}
	for _, v := range [][3]string{{"key:ann", "hub", "one"}, {"key:bob", "hub", "two"}, {"key:ann", "git", "three"}, {"key:ann", "hub", "four"}} {
		must.OK(t, theirs.Set(v[0], v[1], v[2]))
		if got, err := ours.Get(v[0], v[1]); got != v[2] || err != nil {
			t.Errorf("Get(%q, %q) = %q, %v", v[0], v[1], got, err)
		}
	}
	names, err := ours.List("key:ann")
	if diff := cmp.Diff([]string{"git", "hub"}, names); diff != "" || err != nil {
		t.Errorf("List (-want +got):\n%s %v", diff, err)
	}
	if names, err := ours.List("key:an"); len(names) > 0 || err != nil {
		t.Errorf("another user has %v, %v", names, err)
	}
	must.OK(t, theirs.Delete("key:ann", "hub"))
	if err := theirs.Delete("key:ann", "hub"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Delete of nothing = %v", err)
	}
	if got, err := ours.Get("key:ann", "hub"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get after Delete = %q, %v", got, err)
	}
	if got, err := ours.Get("key:bob", "hub"); got != "two" || err != nil {
		t.Errorf("the other user's = %q, %v", got, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "users", "secrets.enc"))
	if err != nil || bytes.Contains(data, []byte("two")) || bytes.Contains(data, []byte("key:bob")) {
		t.Errorf("the file is in the clear: %q, %v", data, err)
	}
	for _, user := range []string{"", "a\x00b"} {
		if ours.Set(user, "hub", "x") == nil {
			t.Errorf("user %q was accepted", user)
		}
	}
	if ours.Set("key:ann", "a b", "x") == nil {
		t.Error("a name with a space was accepted")
	}
	if _, err := NewUserStore(dir).Get("key:bob\x00hub"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("${secret:...} reads it: %v", err)
	}
}

// Without a home directory values cannot be stored.
func TestValuesWithoutHome(t *testing.T) {
	v := NewValues("")
	if _, err := v.Get("key:ann", "hub"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get = %v", err)
	}
	if err := v.Set("key:ann", "hub", "x"); !errors.Is(err, ErrNoHome) {
		t.Errorf("Set = %v", err)
	}
}
