package daemon

import (
	"net/http"

	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/sharing"
	"mcp-all-in-one/internal/web/api"
)

// shares answers requests of clients that want access; false if the path is not
// one of theirs. Other sites may lead a browser to the pages: they show a code to
// a person and decide nothing.
func (rt *router) shares(w http.ResponseWriter, r *http.Request, path string) bool {
	ours, page := rt.share.Serves(path)
	if !ours {
		return false
	}
	if page && rt.guard.CheckHost(w, r) || !page && rt.guard.Check(w, r) {
		rt.serveShare(w, r)
	}
	return true
}

// serveShare answers a request of a client that wants access, at the replica where
// it began.
func (rt *router) serveShare(w http.ResponseWriter, r *http.Request) {
	r.Body = api.BodyFunc(rt.mcp.Body).Foreign(w, r, api.MaxBody)
	defer r.Body.Close()
	if rt.in.Cluster != nil {
		if handle, body := sharing.Handle(w, r); handle != "" && peer.HandPage(rt.in.Cluster, w, r, handle, body) {
			return
		}
	}
	rt.share.ServeHTTP(w, r)
}
