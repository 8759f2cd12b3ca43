package peer

import (
	"context"
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
	list := n.Others.addresses(ctx, "")
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, address := range list {
		if to, ok := n.takes(ctx, address); ok && n.forward(w, a, to, false) == answered {
			return mcphttp.Answered
		}
	}
	return mcphttp.Nowhere
}

// takes says which replica is at an address, if it takes what is new.
func (n outside) takes(ctx context.Context, address string) (Owner, bool) {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	defer cancel()
	v, err := n.ask(ctx, address, "")
	return v.owner(), err == nil && !v.Draining && v.Boot != n.self.Boot
}
