package http1

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// joined is how much of an answer is gathered before it is written.
	joined = 64 << 10
	// kept is how large a buffer for that may be to be used again.
	kept = 16 << 10
	// copied is up to where the end of an answer is copied behind its beginning.
	copied = 2 << 10
	// headRoom is what stands free in front of a body of unknown length.
	headRoom = 256
)

// outs are the buffers that answers are gathered in: one is near again as soon as
// the answer is written.
var outs = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// An answer is the response to one request after the other.
type answer struct {
	conn   *conn
	header http.Header
	status int

	out      []byte  // not written yet
	lent     *[]byte // where out began, from the pool
	room     int     // free bytes at the beginning of out
	length   int64   // announced; -1 when it is not
	sent     int64   // of the body, taken from the handler
	chunked  bool
	headDone bool // the head is in out, or written
	last     bool // the connection ends with this answer
	err      error
	raw      rawWriter
	scratch  [headRoom]byte
}

func (a *answer) init(c *conn) {
	a.conn, a.header, a.length = c, make(http.Header, 8), -1
	a.raw.init(c.nc)
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < 200 {
		return
	}
	a.status = status
	if v := a.header["Content-Length"]; len(v) == 1 {
		if n, ok := length([]byte(v[0])); ok {
			a.length = n
		}
	}
	if a.length >= 0 || !hasBody(status) {
		a.writeHead()
	}
}

func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.err != nil:
		return 0, a.err
	case !hasBody(a.status):
		return 0, http.ErrBodyNotAllowed
	case a.length >= 0 && a.sent+int64(len(p)) > a.length:
		return 0, http.ErrContentLength
	}
	a.sent += int64(len(p))
	if !a.headDone && len(a.out)+len(p) > joined/8 {
		a.startChunks()
	}
	switch {
	case a.chunked:
		a.appendChunk(p)
		return len(p), a.flushOver(joined)
	case len(a.out)+len(p) > joined || a.headDone && a.sent == a.length && len(p) > copied:
		return len(p), a.write(p)
	}
	a.gather()
	a.out = append(a.out, p...)
	return len(p), nil
}

// gather makes out ready for more. What is gathered before its length is known has
// room for the head in front of it.
func (a *answer) gather() {
	if a.lent == nil {
		a.lent = outs.Get().(*[]byte)
		a.out = (*a.lent)[:0]
	}
	if !a.headDone && a.room == 0 {
		a.room = headRoom
		a.out = append(a.out, make([]byte, headRoom)...)
	}
}

// startChunks begins a body of unknown length with what there is of it.
func (a *answer) startChunks() {
	a.chunked = true
	begun := append([]byte(nil), a.out[a.room:]...)
	a.out, a.room = a.out[:0], 0
	a.writeHead()
	a.appendChunk(begun)
}

func (a *answer) appendChunk(p []byte) {
	if len(p) == 0 {
		return
	}
	a.out = strconv.AppendInt(a.out, int64(len(p)), 16)
	a.out = append(a.out, "\r\n"...)
	a.out = append(a.out, p...)
	a.out = append(a.out, "\r\n"...)
}

func (a *answer) flushOver(size int) error {
	if len(a.out) <= size {
		return nil
	}
	return a.write(nil)
}

// FlushError lets an http.ResponseController flush.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.headDone {
		a.startChunks()
	}
	return a.write(nil)
}

// SetReadDeadline lets an http.ResponseController bound reading the body. It
// is set when the body has to be waited for.
func (a *answer) SetReadDeadline(t time.Time) error {
	a.conn.body.due, a.conn.body.set = t, true
	return nil
}

// SetWriteDeadline lets an http.ResponseController bound writing, another
// goroutine's too. It is set when a write has to wait, or at once when it is
// over.
func (a *answer) SetWriteDeadline(t time.Time) error {
	return a.raw.deadline(t)
}

// writeHead puts the head into what is to be written.
func (a *answer) writeHead() {
	a.headDone = true
	a.gather()
	a.out = a.appendHead(a.out)
}

func (a *answer) appendHead(dst []byte) []byte {
	dst = appendDate(appendStatus(dst, a.status))
	for name, values := range a.header {
		if name == "Content-Length" || name == "Transfer-Encoding" || name == "Date" {
			continue
		}
		for _, v := range values {
			if name == "Connection" && v == "close" {
				a.last = true
			}
			dst = appendField(dst, name, v)
		}
	}
	if !a.last && !a.conn.body.here() { // nobody reads on, so nothing can follow
		a.last = true
		dst = append(dst, "Connection: close\r\n"...)
	}
	switch {
	case a.chunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case hasBody(a.status):
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, a.length, 10)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// close ends the answer; false means that the connection cannot go on.
func (a *answer) close() bool {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.chunked {
		a.out = append(a.out, "0\r\n\r\n"...)
	}
	var err error
	if a.headDone {
		err = a.write(nil)
	} else {
		err = a.writeWhole()
	}
	keep := err == nil && !a.last && (a.chunked || !hasBody(a.status) || a.sent == a.length)
	a.reset()
	return keep
}

// writeWhole writes an answer of which nothing is written yet.
func (a *answer) writeWhole() error {
	body := a.out[a.room:]
	a.length = int64(len(body))
	head := a.appendHead(a.scratch[:0])
	switch {
	case a.err != nil:
		return a.err
	case a.room < len(head):
		return a.raw.write(head, body)
	}
	whole := a.out[a.room-len(head):]
	copy(whole, head)
	return a.raw.write(whole)
}

// abort gives the answer up after a panic: what has been said is not ended.
func (a *answer) abort() { a.err = http.ErrAbortHandler }

func (a *answer) reset() {
	clear(a.header)
	if a.lent != nil && cap(a.out) <= kept {
		*a.lent = a.out
		outs.Put(a.lent)
	}
	a.raw.reset()
	a.out, a.lent, a.room, a.status, a.length, a.sent = nil, nil, 0, 0, -1, 0
	a.chunked, a.headDone, a.last, a.err = false, false, false, nil
}

// write sends what is gathered, and p.
func (a *answer) write(p []byte) error {
	if a.err != nil {
		return a.err
	}
	a.err = a.raw.write(a.out, p)
	a.out = a.out[:0]
	return a.err
}
