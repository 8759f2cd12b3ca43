package upstream

import (
	"context"

	"mcp-all-in-one/internal/mcp"
)

// noteOldWay remembers that the server's tools ask the old way. The call that
// showed it has run, so it is not repeated; the next ones use the legacy side.
func (u *Upstream) noteOldWay() {
	if u.opt.Memory.SetOldWay(u.hash, true) {
		u.log.Info("server asks its clients in the legacy era alone, which it is spoken to in from now on")
	}
}

// legacySide is the connection of the only client of a stdio session to the
// legacy side of a server whose primary connection is modern; nil when the
// primary one has to do.
func (u *Upstream) legacySide(ctx context.Context, c *Caller) *link {
	l := u.primary.current()
	if u.opt.Greeting == nil || c.Era != mcp.Modern || l == nil || l.era != mcp.Modern || !u.asksOldWay() || c.binding(u).project != nil {
		return nil
	}
	s := u.slot("legacy", func(s *slot) {
		s.exclusive, s.user = true, u.primary.user
		s.session.Store(u.primary.owner())
	})
	legacy, err := u.linkOf(ctx, s, c, mcp.Legacy)
	if err != nil && ctx.Err() == nil {
		u.opt.Memory.SetOldWay(u.hash, false) // it has no such side after all
	}
	return legacy
}

// asksOldWay says whether modern clients use the legacy side of the server.
func (u *Upstream) asksOldWay() bool {
	p := u.Config().Protocol
	return (p == "" || p == "auto") && u.opt.Memory.OldWay(u.hash)
}
