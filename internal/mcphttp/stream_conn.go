package mcphttp

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// lastChunk is the timeout for writing the end of a stream.
const lastChunk = time.Second

// A StreamConn is the connection of a stream outside calls. It is hijacked from
// net/http once the header is written: such streams are idle for hours, and
// net/http holds two goroutine stacks and four buffers for each.
type StreamConn struct {
	conn   net.Conn
	more   bool          // the client sent more data: read errors are not watched
	left   chan struct{} // closed when listen has returned
	broken bool          // a chunk may have been written only partly
}

var connectionClose = []string{"close"}

// TakeOver sends the header of w and returns the connection, on which the body
// follows. It returns nil if the connection cannot be hijacked; then the header is
// sent, too. An error means that the client has disconnected.
func TakeOver(w http.ResponseWriter, r *http.Request, status int) (*StreamConn, error) {
	takes := r.ProtoMajor == 1 && r.ProtoMinor == 1 && canHijack(w)
	if takes {
		w.Header()["Connection"] = connectionClose
	}
	w.WriteHeader(status)
	rc := http.NewResponseController(w)
	if err := rc.Flush(); err != nil || !takes {
		return nil, err
	}
	conn, buf, err := rc.Hijack()
	if err != nil {
		return nil, err
	}
	return &StreamConn{conn: conn, more: buf.Reader.Buffered() > 0, left: make(chan struct{})}, nil
}

// takeStream sends the header of an event stream and returns the sink for its
// events, nil if the client has disconnected. The sink writes to the connection
// itself if it can be hijacked.
func takeStream(w http.ResponseWriter, r *http.Request, lim *ServerLimits, who string) *sink {
	eventHeader(w.Header())
	c, err := TakeOver(w, r, http.StatusOK)
	switch {
	case err != nil:
		return nil
	case c == nil:
		return newSink(w, r.Context(), lim, who)
	}
	k := &sink{out: c, conn: c, lim: lim, who: who, gone: make(chan struct{})}
	c.Watch(k.cut)
	return k
}

func canHijack(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case http.Hijacker:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// Watch calls gone if the client disconnects. It must be called once.
func (c *StreamConn) Watch(gone func(error)) {
	if c.more {
		close(c.left)
		return
	}
	go c.listen(gone)
}

// listen waits for the end of the connection.
func (c *StreamConn) listen(gone func(error)) {
	defer close(c.left)
	var b [1]byte
	if _, err := c.conn.Read(b[:]); err != nil {
		gone(err)
	}
}

// Write sends p as one chunk with one write: a connection without writev would send
// each part as a packet.
func (c *StreamConn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty chunk would end the body
	}
	buf := buffers.get(int64(len(p)))
	defer buffers.put(buf)
	*buf = append(strconv.AppendInt(*buf, int64(len(p)), 16), "\r\n"...)
	*buf = append(append(*buf, p...), "\r\n"...)
	if _, err := c.conn.Write(*buf); err != nil {
		c.broken = true
		return 0, err
	}
	return len(p), nil
}

// Flush does nothing: writes are not buffered.
func (c *StreamConn) Flush() error { return nil }

// SetWriteDeadline sets the deadline of Write.
func (c *StreamConn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// Close ends the body, unless the stream was cut off, and closes the connection.
func (c *StreamConn) Close(cut bool) {
	if !cut && !c.broken {
		c.conn.SetWriteDeadline(time.Now().Add(lastChunk))
		// The error does not matter: the stream is over.
		_, _ = c.conn.Write([]byte("0\r\n\r\n"))
	}
	c.conn.Close()
	<-c.left
}
