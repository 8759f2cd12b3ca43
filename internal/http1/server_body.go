package http1

import (
	"io"
	"sync/atomic"
	"time"
)

// body is the io.ReadCloser of the current request.
type body struct {
	conn *conn
	left int64 // bytes that are not read yet
	due  time.Time
	set  bool // due must be set on the connection before the next read
	// all reports whether the handler has read the whole body.
	all atomic.Bool
}

func (b *body) begin(c *conn, length int64) {
	b.conn, b.left, b.set = c, length, false
	b.all.Store(length == 0)
}

func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	c := b.conn
	if c.start < c.end {
		n := copy(p, c.buf[c.start:c.end])
		c.start += n
		return b.took(n, nil)
	}
	if b.set {
		b.set = false
		c.due = b.due
		c.nc.SetReadDeadline(b.due)
	}
	n, err := c.nc.Read(p)
	return b.took(n, err)
}

func (b *body) took(n int, err error) (int, error) {
	b.left -= int64(n)
	switch {
	case b.left == 0:
		err = io.EOF
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	if b.left == 0 {
		b.all.Store(true)
	}
	return n, err
}

// Close implements io.Closer. The rest of the body is skipped after the response.
func (b *body) Close() error { return nil }

// here reports whether the whole body has been read or is in the buffer.
func (b *body) here() bool {
	return b.left == 0 || b.left <= int64(b.conn.end-b.conn.start)
}

// skip drops the part of the body that the handler did not read. It reports false
// if some of it has not arrived yet.
func (b *body) skip() bool {
	n := min(int64(b.conn.end-b.conn.start), b.left)
	b.conn.start += int(n)
	b.left -= n
	return b.left == 0
}
