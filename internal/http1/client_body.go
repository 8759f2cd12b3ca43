package http1

import (
	"context"
	"io"
	"net/http"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

var errBodyClosed = i18n.Errorf("read on the closed body of an answer", "读取已关闭的应答")

// A clientBody is the body of a response. Close may be called while Read waits.
type clientBody struct {
	x *clientExchange

	mu sync.Mutex // guards the fields below; held while Read waits
	in *clientBuffer
	clientFraming
	left   int64 // bytes left of the body, or of the chunk
	behind bool  // the line end of the last chunk has not been read yet
	excess int64 // chunk overhead beyond the usual amount
	err    error // returned by every further Read
}

// begin makes b the body of resp. If the body is empty, the exchange ends here.
func (b *clientBody) begin(f clientFraming, resp *http.Response) {
	b.clientFraming = f
	if f.length == 0 {
		b.finish(io.EOF)
		resp.Body = http.NoBody
		return
	}
	b.left = max(f.length, 0)
	resp.Body = b
}

// Read returns the data that has arrived; it does not wait until p is full.
func (b *clientBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err := b.readSome(p)
	if err != nil {
		b.finish(err)
	}
	return n, b.err
}

func (b *clientBody) readSome(p []byte) (int, error) {
	switch {
	case b.chunked:
		return b.readChunks(p)
	case b.length < 0:
		return b.in.read(p, true)
	}
	n, err := b.in.read(p[:min(int64(len(p)), b.left)], true)
	b.left -= int64(n)
	if b.left == 0 {
		return n, io.EOF
	}
	return n, cutOff(err)
}

// cutOff turns io.EOF inside a body into io.ErrUnexpectedEOF.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// finish ends the exchange; err is io.EOF if the whole body has been read.
func (b *clientBody) finish(err error) {
	if err != io.EOF {
		if cause := context.Cause(b.x.ctx); cause != nil {
			err = cause
		} else if b.x.over.Load() {
			err = errBodyClosed
		}
	}
	// Bytes after the end of the response belong to no request: close the
	// connection.
	b.x.release(err == io.EOF && b.keep && len(b.in.unread()) == 0)
	b.in.free()
	b.in, b.err = nil, err
}

// Close ends the exchange. It closes the connection if the response was not read to
// its end.
func (b *clientBody) Close() error {
	b.x.release(false)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.finish(errBodyClosed)
		b.err = errBodyClosed
	}
	return nil
}
