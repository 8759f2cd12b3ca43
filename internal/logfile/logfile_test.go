package logfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "log")
	f := New(path, 10, 3)
	for _, line := range []string{"aaaa\n", "bbbb\n", "cccc\n", "dddd\n", "eeee\n", "longer than a file\n", "f\n"} {
		if n, err := f.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("%q: %d, %v", line, n, err)
		}
	}
	must.OK(t, f.Close())
	want := map[string]string{"": "f\n", ".1": "longer than a file\n", ".2": "eeee\n"}
	for suffix, content := range want {
		if got, err := os.ReadFile(path + suffix); err != nil || string(got) != content {
			t.Errorf("log%s: %q, %v, want %q", suffix, got, err, content)
		}
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != len(want) {
		t.Errorf("files %v", files)
	}
	if _, err := f.Write([]byte("x\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
}

func TestFileAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		f := New(path, 10, 1)
		if n, err := f.WriteLines([][]byte{[]byte("ab\n"), []byte("cd\n"), []byte("ef\n"), []byte("gh\n")}); n == 0 || err != nil {
			t.Fatalf("%d lines, %v", n, err)
		}
		f.Close()
	}
	// Nine bytes were there: none of the second batch fits, so the file starts anew.
	if got, _ := os.ReadFile(path); string(got) != "ab\ncd\nef\n" {
		t.Errorf("log is %q", got)
	}
}

func TestFileRecovers(t *testing.T) {
	blocked := must.Write(t, filepath.Join(t.TempDir(), "blocked"), "")
	path := filepath.Join(blocked, "log")
	f := New(path, 1<<20, 2)
	defer f.Close()
	if _, err := f.Write([]byte("lost\n")); err == nil {
		t.Fatal("a write below a file succeeded")
	}
	must.OK(t, os.Remove(blocked))
	if _, err := f.Write([]byte("kept\n")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), "kept") {
		t.Errorf("log is %q", got)
	}
}
