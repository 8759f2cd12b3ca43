package mcphttp

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// A room is the memory of one body. It counts for its principal until the request is
// answered, because no other limit bounds the bytes of requests.
type room struct {
	srv   *Server
	who   string
	taken int64
}

// take counts a buffer of that size, which replaces the previous one. It reports
// false if the principal would exceed its limit.
func (r *room) take(size int64) bool {
	srv, who := r.srv, r.who
	if !srv.lim.bound(who) {
		return true
	}
	if !srv.lim.Weights.Take(who, size-r.taken, srv.lim.Unfinished) {
		return false
	}
	r.taken = size
	return true
}

// Close ends the count: the request is answered.
func (r *room) Close() error {
	if r.taken != 0 {
		r.srv.lim.Weights.Give(r.who, r.taken)
		r.taken = 0
	}
	return nil
}

// Body returns a reader of the body of a request that is not for MCP. The body may
// have up to limit bytes, and until it is closed it counts like the messages of
// the principal who. If the principal has used up its share, a read returns full.
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
