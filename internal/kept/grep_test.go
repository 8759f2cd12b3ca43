package kept

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

// TestCostOfGrep uses patterns that are short, and large when compiled.
func TestCostOfGrep(t *testing.T) {
	for name, pattern := range map[string]string{
		"repeated": strings.Repeat("(abcdefghijklmnopqrst){1,999}", 141),
		"letters":  strings.Repeat(`\pL`, 1300),
		"any case": "(?i)" + strings.Repeat("[B-\U0001e942]", 400),
	} {
		t.Run("code/grep "+name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(t.Context(), []byte("a\n"), Query{Grep: pattern}, 100, nil)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 { // with the race detector too
				t.Errorf("a pattern of %d bytes took %d bytes of memory", len(pattern), n)
			}
			if err == nil || !strings.Contains(err.Error(), "too large") {
				t.Errorf("it says %v", err)
			}
		})
	}
	t.Run("code/grep in turn", func(t *testing.T) {
		leave, err := grepping.Enter(t.Context(), "other", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Read(ctx, []byte("a\n"), Query{Grep: "("}, 100, nil); err != context.Canceled {
			t.Errorf("a pattern is compiled before its turn: %v", err)
		}
	})
	t.Run("code/grep loads in turn", func(t *testing.T) {
		leave, err := grepping.Enter(t.Context(), "ann", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		load := func() ([]byte, error) {
			t.Error("a search that waits for another of its principal has loaded its result")
			return nil, nil
		}
		if _, err := ReadFrom(ctx, load, Query{Grep: "a", Principal: "ann"}, 100, nil); err != context.Canceled {
			t.Errorf("it ends with %v", err)
		}
	})
}
