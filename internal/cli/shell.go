package cli

import (
	"regexp"
	"strings"
)

var safeWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellLine is how a command would be typed into a shell.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if !safeWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}
