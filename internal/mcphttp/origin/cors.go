package origin

import (
	"net/http"
	"slices"
	"strings"

	"mcp-all-in-one/internal/mcp"
)

var (
	corsMethods = []string{"GET, POST, DELETE, OPTIONS"}
	corsExposed = []string{"Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After"}
	corsMaxAge  = []string{"600"}
	corsVary    = []string{"Origin"}
	corsAny     = []string{"*"}
	corsTrue    = []string{"true"}
)

const corsHeaders = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID, Mcp-Method, Mcp-Name"

// share tells the browser that the page at origin may read the response, and
// answers a preflight. It never allows credentials that a browser adds by itself.
func (g *Guard) share(w http.ResponseWriter, r *http.Request, origin string) (answered bool) {
	h := w.Header()
	if g.AnyOrigin {
		h["Access-Control-Allow-Origin"] = corsAny
	} else {
		h["Access-Control-Allow-Origin"] = []string{origin}
		h["Vary"] = corsVary
	}
	if r.Method != http.MethodOptions || len(r.Header["Access-Control-Request-Method"]) == 0 {
		h["Access-Control-Expose-Headers"] = corsExposed
		return false
	}
	h["Access-Control-Allow-Methods"] = corsMethods
	h["Access-Control-Allow-Headers"] = []string{corsHeaders + paramHeaders(r.Header["Access-Control-Request-Headers"])}
	h["Access-Control-Max-Age"] = corsMaxAge
	if slices.Equal(r.Header["Access-Control-Request-Private-Network"], corsTrue) {
		h["Access-Control-Allow-Private-Network"] = corsTrue
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// paramHeaders returns the Mcp-Param-* headers that a preflight asks for. Their
// names depend on the tools.
func paramHeaders(requested []string) string {
	var b strings.Builder
	for _, line := range requested {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if len(name) > len(mcp.ParamHeaderPrefix) && strings.EqualFold(name[:len(mcp.ParamHeaderPrefix)], mcp.ParamHeaderPrefix) && isToken(name) {
				b.WriteString(", " + name)
			}
		}
	}
	return b.String()
}

func isToken(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}
