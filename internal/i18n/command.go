package i18n

import (
	"strings"

	"mcp-all-in-one/internal/lazy"
)

// plainWord matches a word without characters that are special to a shell.
var plainWord = lazy.Regexp(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Command returns a command quoted for a shell.
func Command(words ...string) string {
	line := make([]string, len(words))
	for i, w := range words {
		if !plainWord().MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line[i] = w
	}
	return strings.Join(line, " ")
}
