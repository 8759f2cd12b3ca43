package peer

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// outside handles the requests outside sessions.
type outside struct{ *Node }

// answer answers a request outside sessions. It belongs to the replica that its
// handle names, or else to any replica that is not stopping.
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

// continued forwards a retry to the replica where its call waits.
func (n outside) continued(w http.ResponseWriter, a *mcphttp.Away, owner Owner) mcphttp.Whereabouts {
	switch n.forward(w, a, owner, false) {
	case dead:
		n.fail(w, a, n.Counted.lost(owner))
	case unreachable:
		n.fail(w, a, mcp.Failure(mcp.UpstreamUnavailable, "", "the replica where this call waits cannot be reached"))
	}
	return mcphttp.Answered
}

// anyone forwards a request to any replica that is not stopping.
func (n outside) anyone(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	if !a.Read() {
		return mcphttp.Answered
	}
	ctx := a.Request.Context()
	for round, again := 0, true; again && round < moves && ctx.Err() == nil; round++ {
		var views []view
		views, again = n.survey(ctx, "", "")
		rand.Shuffle(len(views), func(i, j int) { views[i], views[j] = views[j], views[i] })
		slices.SortStableFunc(views, func(a, b view) int { // as in rank
			return cmp.Compare(strings.Count(a.Address, carriedSuffix), strings.Count(b.Address, carriedSuffix))
		})
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
