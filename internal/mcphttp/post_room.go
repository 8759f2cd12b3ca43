package mcphttp

import "sync"

// unfinished counts the memory of large bodies that have not arrived whole, by
// principal. Nothing else bounds it: what a body asks for is decided on when it
// is there.
type unfinished struct {
	mu sync.Mutex
	of map[string]int64
}

// A room is what one body takes of it.
type room struct {
	in    *incoming
	taken int64
}

// take makes room for a buffer of that size, which replaces the one before;
// false when the principal has its share.
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

// giveBack ends the count: the body is there, or is not wanted.
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
