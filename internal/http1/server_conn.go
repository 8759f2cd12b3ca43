package http1

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// readSize is the read buffer of a connection: enough for a request with a small
	// body.
	readSize = 4 << 10
	// lingering is how long a connection stays open if it is closed with unread
	// input. Closing it at once would discard the response.
	lingering = 500 * time.Millisecond
	// firstWait is the longest time that a connection may wait for its first request
	// after Shutdown.
	firstWait = 2 * time.Second
)

// A conn is one connection that this package serves itself.
type conn struct {
	srv   *Server
	over  *handedOver // takes the connections for net/http
	nc    net.Conn
	ctx   context.Context // of the connection
	buf   []byte          // buf[start:end] is read but not consumed
	start int
	end   int
	head  head
	same  bool      // the current head equals the previous one
	due   time.Time // the read deadline that is set
	body  body
	out   answer
	// request0 has the fields that all requests share.
	request0 http.Request

	mu      sync.Mutex
	asked   bool   // a request has begun
	busy    bool   // a request is being answered
	since   uint64 // value of Server.sweeps when the request began
	given   bool   // passed to net/http
	retired bool   // closed as soon as it is not busy
	watch   watch  // whether the client is still connected
}

func newConn(s *Server, nc net.Conn, over *handedOver) *conn {
	c := &conn{srv: s, over: over, nc: nc, buf: make([]byte, readSize)}
	c.ctx = context.WithValue(context.Background(), http.ServerContextKey, s.std)
	c.ctx = context.WithValue(c.ctx, http.LocalAddrContextKey, nc.LocalAddr())
	c.out.init(c)
	c.request0 = http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: nc.RemoteAddr().String()}
	return c
}

// serve answers requests until the connection ends or passes to net/http.
func (c *conn) serve() {
	defer c.srv.drop(c)
	for first := true; ; first = false {
		raw, ok := c.readHead(first)
		if !ok {
			c.nc.Close()
			return
		}
		if raw == nil || !c.same && !c.head.parse(raw) {
			c.handOver()
			return
		}
		c.start += len(raw)
		if !c.answer() {
			return
		}
	}
}

// readHead returns the next head, nil if net/http has to read it. It reports false
// if the connection has ended.
func (c *conn) readHead(first bool) ([]byte, bool) {
	wait := c.srv.std.IdleTimeout
	if first {
		wait = c.srv.std.ReadHeaderTimeout
	} else if !c.between(wait) {
		return nil, false
	}
	for {
		if have := c.buf[c.start:c.end]; len(have) > 0 {
			n := c.head.repeated(have)
			if c.same = n > 0; !c.same {
				n = headEnd(have)
			}
			if n >= 4 {
				return have[:n], true
			}
			if have[0] != 'P' {
				return nil, true
			}
			if wait = c.srv.std.ReadHeaderTimeout; c.end == len(c.buf) && !c.room() {
				return nil, true
			}
			c.due = time.Time{} // the timeout starts here, and only once
			if err := c.readMore(wait); err != nil {
				return nil, err == io.EOF // after EOF, net/http answers an incomplete head that is invalid
			}
			if headEnd(c.buf[c.start:c.end]) < 4 {
				return nil, true // a client that sends the head in pieces may be slow: net/http waits for it
			}
			continue
		}
		c.start, c.end = 0, 0
		if c.readMore(wait) != nil {
			return nil, false
		}
	}
}

// between waits for the next request as net/http does: it waits for four bytes and
// skips line breaks among them, because some clients send a line break after a
// body.
func (c *conn) between(wait time.Duration) bool {
	for c.end-c.start < 4 {
		if c.start == c.end {
			c.start, c.end = 0, 0
		} else if c.end == len(c.buf) {
			c.room()
		}
		if c.readMore(wait) != nil {
			return false
		}
	}
	for range 4 {
		if b := c.buf[c.start]; b != '\r' && b != '\n' {
			break
		}
		c.start++
	}
	return true
}

// room makes room at the end of the buffer; it reports false if the buffer has its
// maximum size.
func (c *conn) room() bool {
	if c.start > 0 {
		c.end = copy(c.buf, c.buf[c.start:c.end])
		c.start = 0
		return true
	}
	if len(c.buf) >= maxHead {
		return false
	}
	c.buf = append(c.buf, make([]byte, maxHead-len(c.buf))...)
	return true
}

// readMore reads once. It moves the deadline only when less than half of wait is
// left: moving it costs as much as reading.
func (c *conn) readMore(wait time.Duration) error {
	if rest := time.Until(c.due); rest < wait/2 || rest > wait {
		c.due = time.Now().Add(wait)
		if wait == 0 {
			c.due = time.Time{}
		}
		c.nc.SetReadDeadline(c.due)
	}
	n, err := c.nc.Read(c.buf[c.end:])
	c.end += n
	return err
}

// handOver passes the connection to net/http, which reads it from the beginning of
// the current request.
func (c *conn) handOver() {
	c.mu.Lock()
	c.given = true
	c.mu.Unlock()
	c.nc.SetReadDeadline(time.Time{})
	c.nc.SetWriteDeadline(time.Time{})
	c.over.give(c, c.buf[c.start:c.end])
}

// answer answers one request; it reports false if the connection is closed.
func (c *conn) answer() bool {
	if !c.begin() {
		c.nc.Close() // retired: the client would not get the response
		return false
	}
	ok := c.handle()
	watched := c.unwatch()
	keep := c.out.close() && ok && watched && c.body.skip()
	if c.rest() && keep {
		return true
	}
	c.hangUp()
	return false
}

func (c *conn) request() *http.Request {
	c.body.begin(c, c.head.length)
	r := &c.request0
	r.URL, r.RequestURI, r.Header, r.Host = c.head.url, c.head.url.Path, c.head.header, c.head.host
	if r.ContentLength, r.Body = c.head.length, &c.body; c.head.length == 0 {
		r.Body = http.NoBody
	}
	return r.WithContext(c.context())
}

// handle runs the handler; it reports false if the handler panicked.
func (c *conn) handle() (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
		}
	}()
	c.srv.handler.ServeHTTP(&c.out, c.request())
	return true
}

func (c *conn) panicked(v any) {
	c.out.abort()
	if log := c.srv.std.ErrorLog; log != nil && v != http.ErrAbortHandler {
		log.Printf("panic serving %v: %v\n%s", c.nc.RemoteAddr(), v, debug.Stack())
	}
}

// hangUp closes the connection. If input is unread, it closes the write side first
// and lingers.
func (c *conn) hangUp() {
	if c.body.left > 0 {
		if half, ok := c.nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			<-time.After(lingering)
		}
	}
	c.nc.Close()
}
