package i18n

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Hidden reports whether a character is invisible to a person but affects a
// model or a terminal: controls, direction overrides, tags.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// Unseen reports whether a character is invisible or displayed as something
// else: hidden characters, and those that have no width, join others or are for
// private use.
func Unseen(r rune) bool {
	switch {
	case Hidden(r) || r == unicode.ReplacementChar:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r == 0xad, r == 0x034f, r == 0x115f, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xffa0, r >= 0xfff9 && r <= 0xfffb, r >= 0x1d173 && r <= 0x1d17a:
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

// SeenJSON escapes every invisible character of a JSON text, as in \u202e. The
// result is the same JSON: outside strings only line breaks are invisible, and
// those stay.
func SeenJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || !Unseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Seen escapes every character of a line that is invisible or affects a
// terminal, as in \u202e.
func Seen(line string) string {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || Unseen(r) }
	if !strings.ContainsFunc(line, bad) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if bad(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// HasHidden reports whether a text contains a hidden character.
func HasHidden(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return strings.IndexFunc(s[i:], Hidden) >= 0
		}
	}
	return false
}

// Clean removes the hidden characters from a text.
func Clean(s string) string {
	if !HasHidden(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, s)
}

// Reveal returns a text for a person to judge: every invisible character is
// written as ⟨U+202E⟩.
func Reveal(s string) string {
	if strings.IndexFunc(s, Unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Unseen(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
