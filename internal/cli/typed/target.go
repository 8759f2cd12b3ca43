package typed

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
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

// hostPath matches a URL without its scheme.
var hostPath = lazy.Regexp(`^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+:[0-9]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?(/|$)`)

// Address returns the URL of a word that is one but for its scheme; empty if it
// is none. Hosts that no certificate is issued for are reached with http.
func Address(word string) string {
	if !hostPath().MatchString(word) {
		return ""
	}
	scheme := "https://"
	at, err := url.Parse(scheme + word)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(at.Hostname())
	if err == nil && (ip.IsLoopback() || ip.IsPrivate()) || err != nil && !strings.Contains(at.Hostname(), ".") {
		scheme = "http://"
	}
	return scheme + word
}
