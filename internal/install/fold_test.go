package install

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// Every letter is the same as its case folding by Unicode.
func TestFolded(t *testing.T) {
	full := cases.Fold()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if s := string(r); folded(s) != folded(full.String(s)) {
			t.Errorf("install/folded: %U %s is %q, its folding %q", r, s, folded(s), folded(full.String(s)))
		}
	}
	for _, pair := range [][2]string{{"ᾴ", "ΆΙ"}, {"ǰ", "J̌"}, {"İ", "i̇"}, {"ẞ", "ss"}} {
		if folded(pair[0]) != folded(pair[1]) {
			t.Errorf("install/folded: %q and %q differ", pair[0], pair[1])
		}
	}
}
