package i18n

import (
	"fmt"
	"strings"
	"testing"
)

// Every character of a text is visible.
func TestReveal(t *testing.T) {
	for r := rune(0); r <= 0xf0000; r++ {
		shown := Reveal(string(r))
		if Hidden(r) && !strings.Contains(shown, fmt.Sprintf("U+%04X", r)) {
			t.Fatalf("fault/T36: %U is shown as %q", r, shown)
		}
		if strings.IndexFunc(shown, Unseen) >= 0 {
			t.Fatalf("fault/T36: %U stays unseen", r)
		}
	}
}
