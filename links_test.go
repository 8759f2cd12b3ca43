package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading = regexp.MustCompile("(?m)^#+ (.*)$")
	fenced  = regexp.MustCompile("(?s)```.*?```")
	// punctuation is what GitHub leaves out of the anchor of a heading.
	punctuation = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinks checks that the files and headings exist that the pages link to.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md") {
		for _, m := range link.FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(readPage(t, target)), anchor) {
				t.Errorf("%s links to %s: there is no such heading", page, m[1])
			}
		}
	}
	if found < 100 {
		t.Errorf("found only %d links", found)
	}
}

// readPage returns a page without its examples.
func readPage(t *testing.T, path string) string {
	t.Helper()
	return fenced.ReplaceAllString(readFile(t, path), "")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func anchors(page string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		list = append(list, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}
