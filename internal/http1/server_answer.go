package http1

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// joined is how much of a response is buffered before it is written.
	joined = 64 << 10
	// kept is the largest write buffer that returns to the pool.
	kept = 16 << 10
	// copied: the last part of a response is copied into the write buffer up to this
	// size. A larger part is written from the handler's buffer.
	copied = 2 << 10
	// headRoom is the space for the head in front of a body of unknown length.
	headRoom = 256
)

// outs are the write buffers of responses. A buffer returns to the pool as soon as
// the response is written.
var outs = sync.Pool{New: func() any { b := make([]byte, 0, 2<<10); return &b }}

// An answer is the http.ResponseWriter of a connection. All its requests share it.
type answer struct {
	conn   *conn
	header http.Header
	status int

	out      []byte  // not written yet
	lent     *[]byte // the pooled buffer that out came from
	room     int     // free bytes at the beginning of out
	length   int64   // the Content-Length; -1 if not known
	sent     int64   // body bytes written by the handler
	chunked  bool
	headDone bool // the head is in out, or written
	last     bool // the connection closes after this response
	err      error
	raw      rawWriter
	scratch  [headRoom]byte
}

func (a *answer) init(c *conn) {
	a.conn, a.header, a.length = c, make(http.Header, 8), -1
	a.raw.init(c.nc, c.srv.std.WriteTimeout)
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
	case len(a.out)+len(p) >= joined || a.headDone && a.sent == a.length && len(p) > copied:
		return len(p), a.write(p)
	}
	a.gather()
	a.out = append(a.out, p...)
	return len(p), nil
}

// gather makes out ready for more data. Until the length of the body is known, it
// leaves room for the head in front of the body.
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

// startChunks begins a chunked body with the data in out.
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

// FlushError implements the flush of an http.ResponseController.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.headDone {
		a.startChunks()
	}
	return a.write(nil)
}

// SetReadDeadline implements the method of an http.ResponseController. The deadline
// is set on the connection only when a read of the body has to wait.
func (a *answer) SetReadDeadline(t time.Time) error {
	a.conn.body.due, a.conn.body.set = t, true
	return nil
}

// SetWriteDeadline implements the method of an http.ResponseController. It may be
// called from another goroutine. The deadline is set on the connection when a write
// has to wait, or at once if a write waits already.
func (a *answer) SetWriteDeadline(t time.Time) error {
	return a.raw.deadline(t)
}

// writeHead appends the head to out.
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
	if !a.last && !a.conn.body.here() { // the rest of the body is not read, so no request can follow
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

// close ends the response; it reports false if the connection must be closed.
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

// writeWhole writes a response of which nothing has been written yet.
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

// abort gives up the response after a panic. A partial response stays incomplete.
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

// write writes out, and then p.
func (a *answer) write(p []byte) error {
	if a.err != nil {
		return a.err
	}
	a.err = a.raw.write(a.out, p)
	a.out = a.out[:0]
	return a.err
}
