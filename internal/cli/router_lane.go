package cli

import (
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/loop"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/wire"
)

// A lane is the way of requests that repeat the header of one that was let in:
// the same host and origin, the same path, the same credential. It looks again
// at what may have changed since. It implements wire.Lane.
type lane struct {
	rt       *router
	admitted access.Admission
	config   *upstream.Snapshot
	mcp      wire.Lane
}

// A moment is what a request was judged by, taken before it was.
type moment struct {
	config  *upstream.Snapshot
	edition uint64
}

func (rt *router) moment() moment {
	return moment{rt.in.set.Snapshot(), rt.in.access.Edition()}
}

// keepLane lets requests with the header of r, which was answered, go straight
// to its session. A web page is told with each answer that it may read it.
func (rt *router) keepLane(w http.ResponseWriter, r *http.Request, ep mcphttp.Endpoint, at moment) {
	front, ok := w.(wire.LaneWriter)
	if !ok || r.Method != http.MethodPost || len(r.Header["Origin"]) > 0 {
		return
	}
	who := access.From(r.Context())
	admitted, ok := rt.in.access.Admission(r, who, at.edition)
	if !ok {
		return
	}
	if inner := rt.mcp.Lane(r, ep, who.ID); inner != nil {
		front.SetLane(&lane{rt: rt, admitted: admitted, config: at.config, mcp: inner})
	}
}

// Serve implements wire.Lane.
func (l *lane) Serve(w wire.LaneWriter, body []byte) bool { return l.holds() && l.mcp.Serve(w, body) }

// Begin implements wire.Lane.
func (l *lane) Begin(w wire.LaneWriter, body []byte, t *loop.Turn) bool {
	return l.holds() && l.mcp.Begin(w, body, t)
}

// Idle implements wire.Lane.
func (l *lane) Idle() { l.mcp.Idle() }

// holds says that a request would be judged as before. With another
// configuration the path may address something else.
func (l *lane) holds() bool {
	return l.rt.in.set.Snapshot() == l.config && l.admitted.Holds()
}
