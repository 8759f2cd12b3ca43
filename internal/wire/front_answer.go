package wire

import (
	"net/http"
	"strconv"
	"time"
)

const (
	// joined is how much of an answer is gathered before it is written.
	joined = 64 << 10
	// kept is how much of the buffer for that stays with a connection.
	kept = 16 << 10
)

// An answer is the response to one request after the other.
type answer struct {
	conn   *conn
	header http.Header
	status int

	out      []byte // not written yet
	scratch  [headRoom + maxAround]byte
	end      [maxAround]byte
	ready    []byte // the whole answer, with text and after; nil when it comes in pieces
	text     []byte // lent, until free
	after    []byte
	free     func()
	room     *room
	length   int64 // announced; -1 when it is not
	sent     int64 // of the body, taken from the handler
	chunked  bool
	headDone bool // the head is in out, or written
	last     bool // the connection ends with this answer
	err      error
	raw      rawWriter
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
	if !a.headDone && a.length < 0 && len(a.out)+len(p) > joined/8 {
		a.chunked = true
		a.startChunks()
	}
	if a.chunked {
		a.appendChunk(p)
		return len(p), a.flushOver(joined)
	}
	if len(a.out)+len(p) <= joined {
		a.out = append(a.out, p...)
		return len(p), nil
	}
	return len(p), a.write(p)
}

// startChunks begins a body of unknown length with what there is of it.
func (a *answer) startChunks() {
	begun := append([]byte(nil), a.out...)
	a.out = a.out[:0]
	a.writeHead()
	if len(begun) > 0 {
		a.appendChunk(begun)
	}
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
		a.chunked = true
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

// writeHead appends the head to what is to be written.
func (a *answer) writeHead() {
	a.out = a.appendHead(appendStatus(a.out, a.status))
}

// appendHead appends what follows the status line.
func (a *answer) appendHead(dst []byte) []byte {
	a.headDone = true
	dst = appendDate(dst)
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
	if !a.headDone { // all of the body is in out
		body := a.out
		a.length = int64(len(body))
		a.out = make([]byte, 0, len(body)+256)
		a.writeHead()
		a.out = append(a.out, body...)
	}
	if a.chunked {
		a.out = append(a.out, "0\r\n\r\n"...)
	}
	err := a.finish()
	keep := err == nil && !a.last && (a.chunked || !hasBody(a.status) || a.sent == a.length)
	a.reset()
	return keep
}

// finish writes what is left.
func (a *answer) finish() error {
	if a.ready == nil || a.err != nil {
		return a.write(nil)
	}
	if a.err = a.writeNow(); a.err != nil || len(a.ready) == 0 {
		return a.err
	}
	return a.raw.write(a.ready, a.text, a.after)
}

// abort gives the answer up after a panic: what has been said is not ended.
func (a *answer) abort() { a.err = http.ErrAbortHandler }

func (a *answer) reset() {
	clear(a.header)
	a.giveBack()
	a.leaveRoom()
	a.ready, a.text, a.after = nil, nil, nil
	if cap(a.out) > kept {
		a.out = nil
	}
	a.raw.reset()
	a.out, a.status, a.length, a.sent = a.out[:0], 0, -1, 0
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
