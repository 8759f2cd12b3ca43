package catalog

import "strings"

// isHidden says whether a character is one that a person does not see but a
// model or a terminal obeys: controls, direction overrides, tags.
func isHidden(r rune) bool {
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

func hasHidden(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return strings.IndexFunc(s[i:], isHidden) >= 0
		}
	}
	return false
}

// clean removes what is hidden and cuts nothing else.
func clean(s string) string {
	if !hasHidden(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, s)
}
