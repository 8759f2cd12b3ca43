package mcphttp

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// lastChunk is how long the end of a stream may take to be written.
const lastChunk = time.Second

// A streamConn is the connection of a stream outside any call, taken from
// net/http once the header is written. Such streams are idle for hours, and
// net/http holds two goroutines' worth of stack and four buffers for each.
type streamConn struct {
	conn   net.Conn
	left   chan struct{} // closed when nobody reads from it any more
	broken bool          // a chunk may have been written in part
}

var connectionClose = []string{"close"}

// takeStream answers with the header of an event stream and returns where its
// events go, nil when the client is gone. The sink is over the connection
// itself where that can be taken.
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
		close(c.left) // an error from now on is not the client's end
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

// listen waits for the end of the connection, which ends the stream.
func (c *streamConn) listen(k *sink) {
	defer close(c.left)
	var b [1]byte
	if _, err := c.conn.Read(b[:]); err != nil {
		k.cut(err)
	}
}

// Write sends p as one chunk, in one piece: the connection need not be one that
// can gather several, and then each would be a packet.
func (c *streamConn) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty chunk is the last
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

// Flush has nothing to do: nothing is gathered.
func (c *streamConn) Flush() error { return nil }

func (c *streamConn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// close ends the body, unless it was cut off, and the connection.
func (c *streamConn) close(cut bool) {
	if !cut && !c.broken {
		c.conn.SetWriteDeadline(time.Now().Add(lastChunk))
		// Whether it arrives or not, there is nobody to tell.
		_, _ = c.conn.Write([]byte("0\r\n\r\n"))
	}
	c.conn.Close()
	<-c.left
}
