package gateway

import (
	"sync"

	"mcp-all-in-one/internal/catalog"
)

// savings count what scripts and kept results left out of the context of
// models.
type savings struct {
	mu                    sync.Mutex
	scripts, calls, cut   int64
	returned, inner, kept catalog.Cost
}

func (v *savings) script(calls int, inner, shown catalog.Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.scripts++
	v.calls += int64(calls)
	v.inner = plus(v.inner, inner)
	v.returned = plus(v.returned, shown)
}

func (v *savings) result(left catalog.Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cut++
	v.kept = plus(v.kept, left)
}

func (v *savings) fill(r *Receipt) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.Scripts, r.Calls, r.Returned, r.Inner = v.scripts, v.calls, v.returned, v.inner
	r.Cut, r.Kept = v.cut, v.kept
}

func plus(a, b catalog.Cost) catalog.Cost {
	return catalog.Cost{Bytes: a.Bytes + b.Bytes, Tokens: a.Tokens + b.Tokens}
}

// saved notes what a script of the session kept out of the context.
func (s *Session) saved(calls int, inner, shown catalog.Cost) {
	s.tally.saved.script(calls, inner, shown)
	s.gw.tallies.of(s.opening.Schema).saved.script(calls, inner, shown)
}
