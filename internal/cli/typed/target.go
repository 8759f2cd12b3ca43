package typed

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// Target returns the command line of a command about a server as it should have
// been typed, with -- before the program that starts the server; empty if none is
// given.
func Target(a *env.Env, cmd *cobra.Command) string {
	if !a.Personality.Own || slices.Contains(a.Args, "--") {
		return ""
	}
	words := slices.Clone(a.Args)
	words[0] = a.Personality.Name
	at, before := 0, len(strings.Fields(cmd.CommandPath())) // the words of the command
	for i := range before + 1 {                             // list has one more before its target
		next := env.FirstWord(cmd.Flags(), words[at+1:])
		if next < 0 {
			return ""
		}
		at += 1 + next
		if i+1 >= before && isRunner(words[at]) {
			return i18n.Command(slices.Insert(words, at, "--")...)
		}
	}
	return ""
}
