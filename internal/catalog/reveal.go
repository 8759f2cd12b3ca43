package catalog

import (
	"fmt"
	"log/slog"
	"strings"
	"unicode"
)

// isUnseen says whether a character shows nothing, or other than it is: what
// is hidden, and further what has no width, joins, or belongs to nobody.
func isUnseen(r rune) bool {
	switch {
	case isHidden(r) || r == unicode.ReplacementChar:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0xad, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x180b && r <= 0x180f:
		return true
	case r == 0x2028 || r == 0x2029 || r == 0x85:
		return true
	case r != ' ' && unicode.IsSpace(r):
		return true
	case unicode.Is(unicode.Co, r):
		return true
	}
	return false
}

// Reveal is a text for a person to judge: every character that does not show
// is written as its number, ⟨U+202E⟩.
func Reveal(s string) string {
	if strings.IndexFunc(s, isUnseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isUnseen(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// LogValue is the issue for a log, which a person reads on a terminal.
func (i Issue) LogValue() slog.Value {
	return slog.GroupValue(slog.String("item", Reveal(i.Item)), slog.String("detail", Reveal(i.Detail.String())), slog.Bool("withheld", i.Withheld))
}
