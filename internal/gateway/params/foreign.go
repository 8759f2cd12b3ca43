package params

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// IsForeign reports whether a method belongs to an extension that the gateway
// does not know. Servers may parse method names more leniently than the
// gateway, so a name that looks like a method of the protocol, in any case and
// with spaces around it, is not foreign.
func IsForeign(method string) bool {
	family, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(method)), "/")
	return ok && !strings.HasPrefix(method, "rpc.") && !slices.Contains(families, strings.TrimSpace(family)) &&
		!strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r == 0x7f || i18n.Unseen(r) })
}

// families are the first parts of the methods of the protocol, and of the
// extensions that the gateway handles itself.
var families = []string{"initialize", "ping", "tools", "resources", "prompts", "completion", "logging", "roots", "sampling",
	"elicitation", "tasks", "server", "subscriptions", "notifications", "skills"}
