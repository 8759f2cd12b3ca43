package upstream

import (
	"context"

	"mcp-all-in-one/internal/mcp"
)

// HasTasks says whether the server was seen to have tasks, in either dialect.
func (u *Upstream) HasTasks() bool { return u.tasks.Load() }

// Tasks says in the dialect of which era the server has tasks for c; false where
// it has none.
func (u *Upstream) Tasks(ctx context.Context, c *Caller) (mcp.Era, bool) {
	if !u.tasks.Load() {
		return mcp.Legacy, false
	}
	if s := u.modernSlot(ctx, c); s != nil {
		l := s.current()
		return mcp.Modern, l == nil || l.said.HasTasks(l.era)
	}
	l := u.legacySide(ctx, c)
	if s := u.slotOf(c); l == nil && s != nil {
		l = s.current()
	}
	if p := u.primary.current(); l == nil || p != nil && p.era == mcp.Modern && l.slot != p.slot && c.Era == mcp.Legacy {
		l = p
	}
	if l == nil {
		return mcp.Legacy, false
	}
	return l.era, l.said.HasTasks(l.era)
}
