package peer

import (
	"math/rand/v2"
	"net/http"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// outside is a replica, as far as requests outside sessions need it.
type outside struct{ *Node }

// answer answers a request outside sessions, which belongs to another replica
// where it has a handle that says so, and else to any that does not end.
func (n outside) answer(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	hop := handedOver(a.Request.Context())
	if a.Handle != "" {
		owner, ok := parseOwner(n.opt.HandleOwner(n.handles, a.Handle))
		switch {
		case ok && owner.Boot == n.self.Boot:
			return mcphttp.Nowhere // its call waits here
		case ok && !hop:
			return n.continued(w, a, owner)
		}
	}
	switch {
	case !a.Ends || !n.draining.Load():
		return mcphttp.Nowhere
	case hop:
		notRun(w, notNow)
		return mcphttp.Answered
	}
	return n.anyone(w, a)
}

// continued hands a retry to the replica where its call waits.
func (n outside) continued(w http.ResponseWriter, a *mcphttp.Away, owner Owner) mcphttp.Whereabouts {
	switch n.forward(w, a, owner, false) {
	case dead:
		n.fail(w, a, n.Counted.lost(owner))
	case unreachable:
		n.fail(w, a, mcp.Failure(mcp.UpstreamUnavailable, "", "the replica where this call waits cannot be reached"))
	}
	return mcphttp.Answered
}

// anyone hands a request to a replica that does not end.
func (n outside) anyone(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	if !a.Read() {
		return mcphttp.Answered
	}
	ctx := a.Request.Context()
	for round, again := 0, true; again && round < moves && ctx.Err() == nil; round++ {
		var views []view
		views, again = n.survey(ctx, "", "")
		rand.Shuffle(len(views), func(i, j int) { views[i], views[j] = views[j], views[i] })
		for _, v := range views {
			if v.Draining {
				continue
			}
			switch n.forward(w, a, v.owner(), false) {
			case answered:
				return mcphttp.Answered
			case unreachable:
				again = true
			}
		}
	}
	return mcphttp.Nowhere
}
