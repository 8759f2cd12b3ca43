package secrets

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zalando/go-keyring"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/mcptest/must"
)

// fullStore is the common interface of both stores.
type fullStore interface {
	Store
	Set(name, value string) error
	List() ([]string, error)
	Delete(name string) error
}

// TestStores runs the same checks on both stores. The keychain is the library's
// in-memory mock, because a test machine has no desktop session.
func TestStores(t *testing.T) {
	keyring.MockInit()
	for name, s := range map[string]fullStore{"file": NewFileStore(t.TempDir()), "keychain": newKeyringStore()} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Get("x"); !errors.Is(err, ErrNoSecret) {
				t.Errorf("Get of nothing = %v", err)
			}
			for _, kv := range [][2]string{{"b", "two"}, {"a", "one"}, {"b", "three"}} {
				must.OK(t, s.Set(kv[0], kv[1]))
			}
			if v, err := s.Get("b"); v != "three" || err != nil {
				t.Errorf("Get = %q, %v", v, err)
			}
			names, err := s.List()
			if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
				t.Errorf("List (-want +got):\n%s %v", diff, err)
			}
			must.OK(t, s.Delete("a"))
			if err := s.Delete("a"); !errors.Is(err, ErrNoSecret) {
				t.Errorf("Delete of nothing = %v", err)
			}
			if names, _ := s.List(); len(names) != 1 {
				t.Errorf("List after Delete = %v", names)
			}
			for _, odd := range []string{"", keyringIndex} {
				if err := s.Set(odd, "x"); err == nil {
					t.Errorf("%q was stored", odd)
				}
				if _, err := s.Get(odd); !errors.Is(err, ErrNoSecret) {
					t.Errorf("Get(%q) = %v", odd, err)
				}
			}
		})
	}
}

func TestFileStoreOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := NewFileStore(dir)
	if _, err := s.Get("x"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("Get of nothing = %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("reading created %v", entries)
	}
	must.OK(t, s.Set("b", "three"))
	if v, err := NewFileStore(dir).Get("b"); v != "three" || err != nil {
		t.Errorf("another process: %q, %v", v, err)
	}
	for _, name := range []string{"secrets.enc", "secrets.key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || disk.Exposed(info.Mode()) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		data, _ := os.ReadFile(filepath.Join(dir, name))
		if bytes.Contains(data, []byte("three")) {
			t.Errorf("%s holds the secret in the clear", name)
		}
	}
	t.Run("changed", func(t *testing.T) {
		path := filepath.Join(dir, "secrets.enc")
		data, _ := os.ReadFile(path)
		data[len(data)-1] ^= 1
		must.Write(t, path, data)
		if _, err := s.Get("b"); err == nil || errors.Is(err, ErrNoSecret) {
			t.Errorf("a changed file: %v", err)
		}
		if err := s.Set("c", "x"); err == nil {
			t.Error("a file that cannot be read was overwritten")
		}
	})
	t.Run("open key", func(t *testing.T) {
		s := NewFileStore(t.TempDir())
		must.OK(t, s.Set("a", "b"))
		must.OK(t, os.Chmod(s.keyFile(), 0o644))
		if _, err := s.Get("a"); err == nil {
			t.Error("a key that others can read was used")
		}
	})
}
