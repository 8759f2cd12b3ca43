package welcome

import (
	"strings"
	"testing"
)

func TestInstructions(t *testing.T) {
	t.Run("bridge/H15", func(t *testing.T) {
		var b Instructions
		b.Add("a", " Use a.\u202e ")
		b.Add("quiet", "  ")
		b.Add("b", "Use b.")
		if got, want := b.String(), "## a\nUse a.\n\n## b\nUse b."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for range 10 {
			b.Add("long", strings.Repeat("x", 2*maxServerInstructions))
		}
		if n := len(b.String()); n > maxInstructions+maxServerInstructions+100 {
			t.Errorf("%d bytes", n)
		}
	})
}
