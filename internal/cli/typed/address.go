package typed

import (
	"net/netip"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/lazy"
)

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
