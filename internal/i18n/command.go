package i18n

import (
	"regexp"
	"strings"
)

// plainWord has nothing that a shell reads in its own way.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Command is a command as a person types it into a shell: each word arrives as it
// is.
func Command(words ...string) string {
	line := make([]string, len(words))
	for i, w := range words {
		if !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line[i] = w
	}
	return strings.Join(line, " ")
}
