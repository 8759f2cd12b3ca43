package mcphttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/weight"
)

const (
	smallBuffer = 8 << 10
	largeBuffer = 1 << 20 // larger buffers are left to the garbage collector
	bodyStep    = 32 << 10
)

// A bufferPool pools small and large buffers separately, so that small messages do
// not occupy large buffers.
type bufferPool struct{ small, large sync.Pool }

var buffers bufferPool

// get returns an empty buffer for about n bytes. It allocates little even for a large
// n: a client can announce a large body without sending it.
func (p *bufferPool) get(n int64) *[]byte {
	pool := &p.small
	size := smallBuffer
	if n > smallBuffer {
		pool, size = &p.large, bodyStep
	}
	if b, ok := pool.Get().(*[]byte); ok {
		*b = (*b)[:0]
		return b
	}
	b := make([]byte, 0, size)
	return &b
}

func (p *bufferPool) put(b *[]byte) {
	switch n := cap(*b); {
	case n <= 2*smallBuffer:
		p.small.Put(b)
	case n <= largeBuffer:
		p.large.Put(b)
	}
}

// readBody reads the body into a pooled buffer. If it returns false, the POST has
// been answered.
func (in *incoming) readBody() ([]byte, bool) {
	if in.buf != nil {
		return *in.buf, true
	}
	lim, announced := &in.srv.lim, in.r.ContentLength
	if announced > lim.Body {
		lim.Hits.Add("clientMessage")
		in.refuseBody(http.StatusRequestEntityTooLarge, "body over the limit")
		return nil, false
	}
	in.buf = buffers.get(announced)
	held := room{srv: in.srv, who: in.principal}
	defer func() { in.held = held.taken }()
	if size := int64(cap(*in.buf)); size > bodyStep && !held.take(size) {
		buffers.put(in.buf)
		small := make([]byte, 0, bodyStep)
		in.buf = &small
	}
	rc := http.NewResponseController(in.w)
	due := 0 // the deadline is renewed when b has this length
	b := *in.buf
	for {
		if len(b) >= due {
			rc.SetReadDeadline(time.Now().Add(lim.BodyIdle))
			due = len(b) + bodyStep
		}
		if len(b) == cap(b) {
			size := grown(b, announced, lim.Body)
			if !held.take(size) {
				lim.Hits.Add("unfinishedPerKey")
				in.w.Header()["Connection"] = []string{"close"}
				refuseOverload(in.w, weight.Full(lim.Unfinished))
				drop(in, &held)
				return nil, false
			}
			b = append(make([]byte, 0, size), b...)
		}
		n, err := in.r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*in.buf = b
		switch {
		case int64(len(b)) > lim.Body:
			lim.Hits.Add("clientMessage")
			in.refuseBody(http.StatusRequestEntityTooLarge, "body over the limit")
		case err == nil:
			continue
		case err == io.EOF:
			return b, true
		case errors.Is(err, os.ErrDeadlineExceeded):
			lim.Hits.Add("bodyIdle")
			in.refuseBody(http.StatusRequestTimeout, "body did not arrive in time")
		default:
			in.refuseBody(http.StatusBadRequest, "body could not be read")
		}
		drop(in, &held)
		return nil, false
	}
}

// drop gives back a body that was refused.
func drop(in *incoming, held *room) {
	held.Close()
	buffers.put(in.buf)
	in.buf = nil
}

// giveBack returns the buffer of the body to the pool, if there is one. What outlives
// the request, such as a call that waits for its client, must not keep it.
func (in *incoming) giveBack() {
	if in.buf == nil {
		return
	}
	(&room{in.srv, in.principal, in.held}).Close()
	buffers.put(in.buf)
	in.buf = nil
}

// grown returns the size of a larger buffer, in proportion to the data that has
// arrived.
func grown(b []byte, announced, limit int64) int64 {
	size := min(int64(4*cap(b)), limit+1)
	if announced >= int64(len(b)) {
		size = min(size, announced+1)
	}
	return size
}

// refuseBody answers a POST whose body is not read to its end.
func (in *incoming) refuseBody(status int, why string) {
	in.w.Header()["Connection"] = []string{"close"}
	Refuse(in.w, status, jsonrpc.CodeInvalidRequest, why)
}
