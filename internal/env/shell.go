package env

import (
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
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

// TargetOf is what a server runs or dials, as one would type it.
func TargetOf(s *config.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return ShellLine(append([]string{s.Command}, slices.Clone(s.Args)...))
}
