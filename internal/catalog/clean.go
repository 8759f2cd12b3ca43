package catalog

import (
	"strings"

	"mcp-all-in-one/internal/i18n"
)

func hasHidden(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return strings.IndexFunc(s[i:], i18n.Hidden) >= 0
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
		if i18n.Hidden(r) {
			return -1
		}
		return r
	}, s)
}
