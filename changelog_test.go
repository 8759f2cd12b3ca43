package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChangelog checks that every note begins with its kind and a title.
func TestChangelog(t *testing.T) {
	notes, err := filepath.Glob("changelog/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) == 0 {
		t.Error("there are no notes")
	}
	for _, path := range notes {
		first, _, _ := strings.Cut(readFile(t, path), "\n")
		kind, title, _ := strings.Cut(first, ": ")
		if !slices.Contains([]string{"Bugfix", "Enhancement", "Change", "Security"}, kind) || title == "" {
			t.Errorf("%s begins with %q: it needs Bugfix, Enhancement, Change or Security, a colon and a title", path, first)
		}
	}
}
