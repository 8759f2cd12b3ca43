package mcphttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
)

// unfinished counts the memory of large incomplete bodies by principal. No other
// limit applies to them, because the others are checked when a body is complete.
type unfinished struct {
	mu sync.Mutex
	of map[string]int64
}

// A room is the share of one body in unfinished.
type room struct {
	srv   *Server
	who   string
	taken int64
}

// take reserves memory for a buffer of that size, which replaces the previous one.
// It reports false if the principal would exceed its limit.
func (r *room) take(size int64) bool {
	srv, who := r.srv, r.who
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
	u.of[who] += more
	r.taken = size
	return true
}

// Close releases the reservation: the body is complete or was refused.
func (r *room) Close() error {
	if r.taken == 0 {
		return nil
	}
	u, who := &r.srv.unfinished, r.who
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of[who] -= r.taken; u.of[who] == 0 {
		delete(u.of, who)
	}
	return nil
}

// Body returns a reader of the body of a request that is not for MCP. The body may
// have up to limit bytes, and until it is closed it counts like the messages of
// the principal who. If the principal has used up its share, a read
// returns full.
func (s *Server) Body(w http.ResponseWriter, r *http.Request, who string, limit int64, full error) io.ReadCloser {
	return &otherBody{room{srv: s, who: who}, http.MaxBytesReader(w, r.Body, limit), limit, 0, 0, full}
}

type otherBody struct {
	room
	from    io.Reader
	limit   int64
	n, next int64 // bytes that have arrived; with next of them more room is taken
	full    error
}

func (b *otherBody) Read(p []byte) (int, error) {
	if b.n >= b.next {
		b.next += bodyStep
		if !b.take(2 * min(b.next, b.limit)) { // readers double their buffers
			b.srv.lim.Hits.Add("unfinishedPerKey")
			return 0, b.full
		}
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.next-b.n)])
	b.n += int64(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		b.srv.lim.Hits.Add("bodyIdle")
	}
	return n, err
}
