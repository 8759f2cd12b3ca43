package traffic

import (
	"fmt"
	"testing"

	"mcp-all-in-one/internal/mcptest/random"
)

// A number refers to the same value until it is released, whatever else is added
// and released, and even if hints collide.
func TestTable(t *testing.T) {
	numbers := random.New(t)
	table := newTable[string, int]()
	type held struct {
		n   uint32
		key string
	}
	var all []held
	for range 20_000 {
		if len(all) > 0 && numbers.IntN(2) == 0 {
			i := numbers.IntN(len(all))
			table.release(all[i].n)
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		key := ""
		if i := numbers.IntN(100); i > 20 {
			key = fmt.Sprint(i)
		}
		n := table.hold(key, uint8(numbers.IntN(64)))
		if n == 0 && key != "" {
			n = table.add(key, 0)
		}
		all = append(all, held{n, key})
		for _, h := range all[max(len(all)-3, 0):] {
			if got := table.rows[h.n].key; got != h.key {
				t.Fatalf("number %d stands for %q, not for %q", h.n, got, h.key)
			}
		}
	}
	for _, h := range all {
		if got := table.rows[h.n].key; got != h.key {
			t.Fatalf("number %d stands for %q, not for %q", h.n, got, h.key)
		}
		table.release(h.n)
	}
	if len(table.numbers) != 0 || len(table.rows) > 101 {
		t.Errorf("%d keys and %d rows are left", len(table.numbers), len(table.rows))
	}
}
