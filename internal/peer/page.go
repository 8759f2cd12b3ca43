package peer

import (
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcphttp"
)

// HandPage forwards a request that needs no credential to the replica that its
// handle names, with the given body. It reports false if this replica has to answer:
// the handle is its own, or that replica cannot answer any more.
func HandPage(n *Node, w http.ResponseWriter, r *http.Request, handle string, body []byte) bool {
	to, ok := parseOwner(n.opt.HandleOwner(n.handles, handle))
	if !ok || to.Boot == n.self.Boot || handedOver(r.Context()) {
		return false
	}
	a := &mcphttp.Away{Request: r.WithContext(access.With(r.Context(), access.Anonymous)), Body: body, Page: true}
	return n.forward(w, a, to, false) == answered
}
