package mcphttp

import "sync"

// unfinished counts the memory of large incomplete bodies by principal. No other
// limit applies to them, because those are checked when a body is complete.
type unfinished struct {
	mu sync.Mutex
	of map[string]int64
}

// A room is the share of one body in unfinished.
type room struct {
	in    *incoming
	taken int64
}

// take reserves memory for a buffer of that size, which replaces the previous one.
// It reports false if the principal would exceed its limit.
func (r *room) take(size int64) bool {
	srv, who := r.in.srv, r.in.principal
	if !srv.lim.bound(who) {
		return true
	}
	u := &srv.unfinished
	u.mu.Lock()
	defer u.mu.Unlock()
	more := size - r.taken
	if u.of[who]+more > srv.lim.Unfinished {
		return false
	}
	if u.of == nil {
		u.of = make(map[string]int64)
	}
	u.of[who] += more
	r.taken = size
	return true
}

// giveBack releases the reservation: the body is complete or was refused.
func (r *room) giveBack() {
	if r.taken == 0 {
		return
	}
	u, who := &r.in.srv.unfinished, r.in.principal
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[who] -= r.taken; u.of[who] == 0 {
		delete(u.of, who)
	}
}
