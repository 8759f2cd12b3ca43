package receipt

import (
	"sync"

	"mcp-all-in-one/internal/catalog"
)

// savings count what scripts and kept results left out of the context of
// models.
type savings struct {
	mu                              sync.Mutex
	scripts, calls, cut, reads      int64
	returned, inner, kept, readBack catalog.Cost
}

func (v *savings) script(calls int, inner, shown catalog.Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.scripts++
	v.calls += int64(calls)
	v.inner = v.inner.Plus(inner)
	v.returned = v.returned.Plus(shown)
}

func (v *savings) result(left catalog.Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cut++
	v.kept = v.kept.Plus(left)
}

func (v *savings) read(shown catalog.Cost) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads++
	v.readBack = v.readBack.Plus(shown)
}

func (v *savings) fill(r *Receipt) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r.Scripts, r.Calls, r.Returned, r.Inner = v.scripts, v.calls, v.returned, v.inner
	r.Cut, r.Kept, r.Reads, r.ReadBack = v.cut, v.kept, v.reads, v.readBack
}
