package cli

import (
	"net/http"

	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/wire"
)

// A lane is the way of requests that repeat the header of one that was let in:
// the same host and origin, the same path, the same credential. It looks again
// at what may have changed since. It implements wire.Lane.
type lane struct {
	rt     *router
	r      *http.Request
	who    string
	shown  bool // a credential, which may be good no longer
	config *upstream.Snapshot
	mcp    wire.Lane
}

// keepLane lets requests with the header of r, which was answered, go straight
// to its session. Tokens of others are looked at anew for each request.
func (rt *router) keepLane(w http.ResponseWriter, r *http.Request, ep mcphttp.Endpoint, who string) {
	front, ok := w.(wire.LaneWriter)
	if !ok || r.Method != http.MethodPost || rt.in.access.Tokens != nil {
		return
	}
	if inner := rt.mcp.Lane(r, ep, who); inner != nil {
		_, shown := r.Header["Authorization"]
		front.SetLane(&lane{rt: rt, r: r, who: who, shown: shown, config: rt.in.set.Snapshot(), mcp: inner})
	}
}

// Serve implements wire.Lane.
func (l *lane) Serve(w wire.LaneWriter, body []byte) bool {
	if l.rt.in.set.Snapshot() != l.config { // the path may address something else
		return false
	}
	if l.shown {
		if who, refused := l.rt.in.access.Authenticate(l.r); refused != nil || who.ID != l.who {
			return false
		}
	}
	return l.mcp.Serve(w, body)
}
