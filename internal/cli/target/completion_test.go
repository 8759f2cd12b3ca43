package target

import (
	"slices"
	"testing"

	"mcp-all-in-one/internal/catalog"
)

// TestArgumentWords checks the arguments of a tool, and the values of arguments
// that have few.
func TestArgumentWords(t *testing.T) {
	items, _ := catalog.ParseTools([][]byte{[]byte(`{"tools":[{"name":"sort","inputSchema":{"type":"object","properties":{
		"order":{"type":"string","enum":["up","down"]},"by":{"type":"string"}},"required":["order"]}}]}`)})
	if len(items) != 1 {
		t.Fatalf("%d tools", len(items))
	}
	words := ArgumentWords(catalog.Tools, &items[0])
	slices.Sort(words)
	if want := []string{"by=", "order=", "order=down", "order=up"}; !slices.Equal(words, want) {
		t.Errorf("got %q, want %q", words, want)
	}
}
