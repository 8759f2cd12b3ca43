package mcphttp

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// lastChunk is the timeout for writing the end of a stream.
const lastChunk = time.Second

// A streamConn is the connection of a stream outside calls. It is hijacked from
// net/http once the header is written: such streams are idle for hours, and
// net/http holds two goroutine stacks and four buffers for each.
type streamConn struct {
	conn   net.Conn
	left   chan struct{} // closed when listen has returned
	broken bool          // a chunk may have been written only partly
}

var connectionClose = []string{"close"}

// takeStream sends the header of an event stream and returns the sink for its
// events, nil if the client has disconnected. The sink writes to the connection
// itself if it can be hijacked.
func takeStream(w http.ResponseWriter, r *http.Request, lim *ServerLimits) *sink {
	k := newSink(w, r.Context(), lim)
	takes := r.ProtoMajor == 1 && r.ProtoMinor == 1 && canHijack(w)
	if takes {
		w.Header()["Connection"] = connectionClose
	}
	if k.header() != nil {
		return nil
	}
	if !takes {
		return k
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	c := &streamConn{conn: conn, left: make(chan struct{})}
	k = &sink{out: c, conn: c, lim: lim, gone: make(chan struct{})}
	if buf.Reader.Buffered() > 0 {
		close(c.left) // the client sent more data: read errors are not watched
	} else {
		go c.listen(k)
	}
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

// listen waits for the end of the connection and then ends the stream.
func (c *streamConn) listen(k *sink) {
	defer close(c.left)
	var b [1]byte
	if _, err := c.conn.Read(b[:]); err != nil {
		k.cut(err)
	}
}

// Write sends p as one chunk with one write: a connection without writev would send
// each part as a packet.
func (c *streamConn) Write(p []byte) (int, error) {
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
func (c *streamConn) Flush() error { return nil }

func (c *streamConn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// close ends the body, unless the stream was cut off, and closes the connection.
func (c *streamConn) close(cut bool) {
	if !cut && !c.broken {
		c.conn.SetWriteDeadline(time.Now().Add(lastChunk))
		// The error does not matter: the stream is over.
		_, _ = c.conn.Write([]byte("0\r\n\r\n"))
	}
	c.conn.Close()
	<-c.left
}
