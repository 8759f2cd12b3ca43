package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

// TestExamplesAreJSON parses the configuration examples of the pages as a
// config file is parsed: JSON with comments.
func TestExamplesAreJSON(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, "README.md", "README.zh-CN.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range indentedObjects(string(text)) {
			found++
			t.Run("true/15 "+page, func(t *testing.T) {
				if _, err := hujson.Parse([]byte(block)); err != nil {
					t.Errorf("%v in\n%s", err, block)
				}
			})
		}
	}
	if found < 3 {
		t.Errorf("found only %d examples", found)
	}
}

// indentedObjects returns the examples of a page that consist of one object.
func indentedObjects(text string) []string {
	var list []string
	block := ""
	for line := range strings.Lines(text + "\n") {
		if strings.HasPrefix(line, "    ") {
			block += line
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(block), `{`) && !strings.Contains(block, `"jsonrpc"`) {
			list = append(list, block)
		}
		block = ""
	}
	return list
}
