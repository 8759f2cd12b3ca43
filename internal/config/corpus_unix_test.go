//go:build unix

package config

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCorpusOwner(t *testing.T) {
	t.Run("corpus/C17", func(t *testing.T) {
		path := corpus(t, "C17.json")
		o := options(t, path, nil)
		if err := os.Chmod(path, 0o606); err != nil {
			t.Fatal(err)
		}
		_, err := Load(o)
		problemOf(t, err, codeWorldWrite)
		o.Insecure = true
		cfg, err := Load(o)
		if err != nil {
			t.Fatalf("with the override: %v", err)
		}
		warned(t, cfg, codeWorldWrite)

		if err := os.Chmod(path, 0o660); err != nil {
			t.Fatal(err)
		}
		o.Insecure = false
		if cfg, err = Load(o); err != nil {
			t.Fatalf("group-writable: %v", err)
		}
		warned(t, cfg, codeOwner)
		if len(cfg.Problems) != 1 {
			t.Errorf("problems = %v, want one", cfg.Problems)
		}
	})
}

func TestCorpusSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.json")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo.json")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]string{
		loop: codeUnreadable, fifo: codeNotRegular, "/dev/zero": codeNotRegular, dir: codeNotRegular,
	} {
		t.Run("corpus/C18/"+filepath.Base(path), func(t *testing.T) {
			quick(t, func() {
				_, err := Load(options(t, path, nil))
				problemOf(t, err, code)
			})
		})
	}
}
