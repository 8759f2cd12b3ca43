package catalog

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/spelling"
)

// Measuring eight bytes at a time gives the same cost as measuring single
// characters, without a copy.
func TestCostOf(t *testing.T) {
	for _, text := range []string{"", "a", "1234567", "12345678", "123456789", "é", "1234567é", "12345678漢字 and more é\xff", strings.Repeat("abc漢", 10)} {
		quarters := 0
		for _, r := range text {
			switch {
			case r < 0x80:
				quarters++
			case spelling.IsDense(r):
				quarters += 4
			default:
				quarters += 2
			}
		}
		if got := CostOf([]byte(text)); got != (Cost{Bytes: len(text), Tokens: (quarters + 3) / 4}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	list := []byte(strings.Repeat("a list of tools ", 1000))
	if n := testing.AllocsPerRun(10, func() { CostOf(list) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A catalogue whose tools are never requested, such as the one beside the
// catalogue with our own tools, costs nearly nothing.
func TestMergeIsLazy(t *testing.T) {
	var f Features
	for i := range 1000 {
		raw := fmt.Appendf(nil, `{"name":"t%d","inputSchema":{"type":"object"}}`, i)
		f.Tools = append(f.Tools, newItem(Tools, raw))
	}
	sources := []Source{{Server: "a", Features: &f}, {Server: "b", Features: &f}}
	var c *Catalog
	if n := testing.AllocsPerRun(10, func() { c = Merge(sources, Options{}) }); n > 100 {
		t.Errorf("%v allocations for 2,000 tools that nobody asked for", n)
	}
	if _, miss := c.Tool("b__t999"); miss != nil || c.Count(Tools, View{}) != 2000 {
		t.Errorf("%v, %d tools", miss, c.Count(Tools, View{}))
	}
}
