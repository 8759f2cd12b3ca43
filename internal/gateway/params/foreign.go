package params

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// IsForeign says whether a method is one that the protocol leaves to
// extensions. A server may read names more leniently than we do, so what looks
// like a method of the protocol, in any case and with spaces around it, is not.
func IsForeign(method string) bool {
	family, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(method)), "/")
	return ok && !strings.HasPrefix(method, "rpc.") && !slices.Contains(families, strings.TrimSpace(family)) &&
		!strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r == 0x7f || i18n.Unseen(r) })
}

// families are what the methods of the protocol, and of the extensions
// that have a way of their own here, begin with.
var families = []string{"initialize", "ping", "tools", "resources", "prompts", "completion", "logging", "roots", "sampling",
	"elicitation", "tasks", "server", "subscriptions", "notifications", "skills"}
