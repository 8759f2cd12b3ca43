package addresses

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"mcp-all-in-one/internal/catalog"
)

// TestTwoGateways checks that two gateways that share the file keep the
// addresses of both.
func TestTwoGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "addresses.json")
	// Each has read the file before the other writes.
	one, two := Open(path), Open(path)
	give := func(a *File, schema, first, second string) {
		features := &catalog.Features{Resources: []catalog.Item{{Key: "ui://app", Raw: []byte(`{"uri":"ui://app","name":"app"}`)}}}
		catalog.Merge([]catalog.Source{{Server: first, Features: features}, {Server: second, Features: features}}, catalog.Options{Addresses: a.Of(schema)})
		a.Save()
	}
	var wg sync.WaitGroup
	wg.Go(func() { give(one, "work", "a", "b") })
	wg.Go(func() { give(two, "home", "c", "d") })
	wg.Wait()
	t.Run("true/6 two gateways", func(t *testing.T) {
		books := Open(path)
		for schema, keeper := range map[string]string{"work": "a", "home": "c"} {
			if book := books.Of(schema).Book(); book.Shared["ui://app"] != keeper {
				t.Errorf("%s: %+v", schema, book)
			}
		}
	})
	t.Run("true/6 who came first stays first", func(t *testing.T) {
		give(two, "work", "b", "a")
		book := Open(path).Of("work").Book()
		if book.Shared["ui://app"] != "a" || !slices.Equal(book.Servers, []string{"a", "b"}) {
			t.Errorf("%+v", book)
		}
	})
}
