package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

func newKeys(t *testing.T) *Keys {
	t.Helper()
	return openKeys(t, filepath.Join(t.TempDir(), "dir", "keys.json"))
}

// openKeys opens the keys of a file, as each process does.
func openKeys(t *testing.T, path string) *Keys {
	t.Helper()
	k, err := OpenKeys(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// grantOf returns the grant with these scopes.
func grantOf(t *testing.T, scopes []string) Grant {
	t.Helper()
	grant, err := ParseScopes(scopes)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func create(t *testing.T, k *Keys, name string, grant Grant, expires *time.Time) (string, Key) {
	t.Helper()
	plain, key, err := k.Create(name, grant, expires)
	if err != nil {
		t.Fatal(err)
	}
	return plain, key
}

func TestKeysAtRest(t *testing.T) {
	k := newKeys(t)
	plain, key := create(t, k, "ci", Grant{Servers: []string{"git"}, ReadOnly: true}, nil)
	data := []byte(must.Read(t, k.path))
	if bytes.Contains(data, []byte(plain)) || bytes.Contains(data, []byte(strings.TrimPrefix(plain, keyPrefix))) {
		t.Error("the key itself is in the file")
	}
	if !bytes.Contains(data, []byte(key.Hash)) || len(key.Hash) != 64 || len(plain) != len(keyPrefix)+43 {
		t.Errorf("hash %q of a key of %d bytes", key.Hash, len(plain))
	}
	info, err := os.Stat(k.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	again := openKeys(t, k.path)
	if p, ok := again.find(plain); !ok || p.ID != "key:"+key.ID || p.Name != "ci" || !p.ReadOnly || !p.MaySee("x", "git", "") || p.MaySee("x", "fs", "") {
		t.Errorf("another process finds %+v, %v", p, ok)
	}
	left, _ := filepath.Glob(filepath.Dir(k.path) + "/*")
	if len(left) != 2 || left[1] != k.path+".lock" {
		t.Errorf("left behind: %v", left)
	}
}

func TestKeysUnique(t *testing.T) {
	k := newKeys(t)
	seen := map[string]bool{}
	for i := range 50 {
		plain, key := create(t, k, fmt.Sprint(i), Grant{}, nil)
		if seen[plain] || seen[key.ID] {
			t.Fatal("a key came twice")
		}
		seen[plain], seen[key.ID] = true, true
	}
}

func TestKeyNames(t *testing.T) {
	k := newKeys(t)
	for _, name := range []string{"", "a\x1b[31mb", "a\nb", "a\u202eb", "a\u200bb"} {
		if _, _, err := k.Create(name, Grant{}, nil); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	create(t, k, "王的 laptop", Grant{}, nil)
}

// TestNewKey checks that a key is accepted as soon as it was created by another
// process.
func TestNewKey(t *testing.T) {
	ours := newKeys(t)
	theirs := openKeys(t, ours.path)
	for i := range 3 {
		plain, _ := create(t, theirs, fmt.Sprint(i), Grant{}, nil)
		if _, ok := ours.find(plain); !ok {
			t.Errorf("key %d is unknown", i)
		}
	}
}

func TestRevoke(t *testing.T) {
	ours := newKeys(t)
	theirs := openKeys(t, ours.path) // another process
	plain, key := create(t, ours, "ci", Grant{}, nil)
	past := time.Now().Add(-time.Hour)
	create(t, ours, "twin", Grant{}, &past)
	create(t, ours, "twin", Grant{}, nil)
	if _, _, err := ours.Create("twin", Grant{}, nil); !errors.Is(err, ErrKeyExists) {
		t.Errorf("a second valid key of the same name: %v", err)
	}

	ended := make(chan string, 10)
	stop := ours.OnRevoke(func(id string) { ended <- id })
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { ours.Watch(ctx) })
	defer watching.Wait()
	defer cancel()

	start := time.Now()
	if _, err := theirs.Revoke("ci"); err != nil {
		t.Fatal(err)
	}
	if id := must.Receive(t, "word of the end of a key", ended); id != "key:"+key.ID {
		t.Errorf("told of %s", id)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("a revocation took %v to count", took)
	}
	if _, ok := ours.find(plain); ok {
		t.Error("a revoked key still opens")
	}
	stop()
	if _, err := theirs.Revoke("twin"); err == nil || errors.Is(err, ErrNoKey) {
		t.Errorf("one of two keys of the same name: %v", err)
	}
	if _, err := theirs.Revoke("nobody"); !errors.Is(err, ErrNoKey) {
		t.Errorf("a key that is not there: %v", err)
	}
	list, err := ours.List()
	if err != nil || len(list) != 3 || list[0].Revoked == nil || list[1].Revoked != nil {
		t.Errorf("list %+v, %v", list, err)
	}
	if len(ended) != 0 {
		t.Error("told after stop")
	}
}

func TestKeyExpires(t *testing.T) {
	k := newKeys(t)
	ended := make(chan string, 10)
	k.OnRevoke(func(id string) { ended <- id })
	soon, past := time.Now().Add(2*time.Second), time.Now().Add(-time.Second)
	plain, key := create(t, k, "soon", Grant{}, &soon)
	expired, _ := create(t, k, "past", Grant{}, &past)
	if _, ok := k.find(expired); ok {
		t.Error("an expired key opens")
	}
	if p, ok := k.find(plain); !ok || !p.Expires.Equal(soon) {
		t.Errorf("found %+v, %v", p, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { k.Watch(ctx) })
	defer watching.Wait()
	defer cancel()
	if id := must.Receive(t, "word of the end of a key", ended); id != "key:"+key.ID {
		t.Errorf("told of %s", id)
	}
	if _, ok := k.find(plain); ok {
		t.Error("an expired key opens")
	}
}

func TestKeyFileFailsClosed(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"deleted":           os.Remove,
		"garbled":           func(p string) error { return os.WriteFile(p, []byte(`{"keys":[{"id":`), 0o600) },
		"writable by all":   func(p string) error { return os.Chmod(p, 0o666) },
		"writable by group": func(p string) error { return os.Chmod(p, 0o620) },
		"a directory": func(p string) error {
			return errors.Join(os.Remove(p), os.Mkdir(p, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeys(t)
			plain, _ := create(t, k, "x", Grant{}, nil)
			must.OK(t, spoil(k.path))
			k.refresh(true)
			if _, ok := k.find(plain); ok {
				t.Error("the key still opens")
			}
			if _, err := OpenKeys(k.path, nil); (err == nil) != (name == "deleted") {
				t.Errorf("opening it: %v", err)
			}
		})
	}
}

func TestKeysConcurrentWriters(t *testing.T) {
	k := newKeys(t)
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			own, err := OpenKeys(k.path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 5 {
				if _, _, err := own.Create(fmt.Sprintf("%d-%d", i, j), Grant{}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if list, err := k.List(); err != nil || len(list) != 20 {
		t.Errorf("%d keys of 20, %v", len(list), err)
	}
}

// Secrets are compared in one function, in constant time.
func TestOneComparison(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var compared, called int
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "ConstantTimeCompare" {
				compared++
			}
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "sameHash" {
					called++
				}
			}
			return true
		})
	}
	if compared != 1 || called != 2 { // for the keys of the file and for the key of the configuration
		t.Errorf("ConstantTimeCompare is used %d times, sameHash %d times", compared, called)
	}
}
