package catalog

import (
	"fmt"
	"log/slog"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Reveal is a text for a person to judge: every character that does not show
// is written as its number, ⟨U+202E⟩.
func Reveal(s string) string {
	if strings.IndexFunc(s, i18n.Unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if i18n.Unseen(r) {
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
