package http1

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Server is like an http.Server. It serves plain POST requests itself, and passes
// the connections of all other requests to the http.Server that it was made with,
// which has the same handler and limits.
//
// A handler must not change the header of a request: a later request with the same
// header shares it.
type Server struct {
	std     *http.Server
	handler http.Handler

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*conn]struct{}
	accepting sync.WaitGroup // listeners that may still accept connections
	ending    bool
	first     time.Duration // how long a new connection may wait for its first request after Shutdown
	cut       bool          // Close was called: new connections are closed
	closed    bool          // no more connections are accepted
	gone      chan struct{} // closed with the last connection, after closed is set
	sweeper   *time.Timer
	armed     atomic.Bool
	sweeps    atomic.Uint64
}

// NewServer returns a Server with the settings of std. std belongs to the Server:
// do not shut it down directly.
func NewServer(std *http.Server) *Server {
	h := std.Handler
	if b, ok := h.(*bound); ok {
		h = b.Handler // our own connections answer at once
	}
	s := &Server{std: std, handler: h, conns: make(map[*conn]struct{}), gone: make(chan struct{})}
	std.Handler, std.ConnContext = answering(std.Handler), withBegun
	return s
}

// Listen opens a listener that a Server can shut down without breaking a
// connection. It uses plain TCP: Go's default, an MPTCP listener, cannot be made to
// drop new connections.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	return lc.Listen(ctx, "tcp", address)
}

// Serve accepts connections until Shutdown or Close, and then returns
// http.ErrServerClosed. It closes the listener.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	if !s.begin(ln) {
		return http.ErrServerClosed
	}
	over := &handedOver{addr: ln.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})}
	rest := make(chan error, 1)
	go func() { rest <- s.std.Serve(over) }()
	err := s.accept(ln, over)
	if s.isEnding() {
		over.fresh.Wait() // their first request may be for net/http, which must still accept
	}
	s.accepting.Done()
	over.Close()
	if restErr := <-rest; err == nil {
		err = restErr
	}
	return err
}

// begin registers a listener; it reports false if the server has been shut down.
func (s *Server) begin(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, ln)
	if s.ending {
		return false
	}
	s.accepting.Add(1)
	return true
}

func (s *Server) accept(ln net.Listener, over *handedOver) error {
	var pause time.Duration
	for {
		nc, err := ln.Accept()
		if err == nil {
			pause = 0
			s.take(nc, over)
			continue
		}
		if s.isEnding() {
			s.last(ln, over)
			return http.ErrServerClosed
		}
		// Like net/http: a temporary shortage may be over in a moment.
		//lint:ignore SA1019 there is no other way to tell
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Temporary() {
			return err
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		<-time.After(pause)
	}
}

// deadlined is a listener whose Accept can be interrupted without closing it.
type deadlined interface {
	net.Listener
	SetDeadline(t time.Time) error
}

const (
	// lastLook is how long the listener waits for another connection in its backlog.
	// lastLooks is the most connections that are accepted that way; no backlog is
	// longer.
	lastLook  = 2 * time.Millisecond
	lastLooks = 4096
)

// last accepts the connections in the backlog and then closes the listener. Closing
// it earlier would break those connections, which may carry requests. If the
// platform allows it, new connections are dropped meanwhile.
func (s *Server) last(ln net.Listener, over *handedOver) {
	defer ln.Close()
	d, ok := ln.(deadlined)
	if !ok {
		return
	}
	waits := noMore(ln)
	if waits == nil {
		began := time.Now()
		waits = func(wait time.Duration) bool { return time.Since(began) < wait }
	}
	for i := 0; i < lastLooks && waits(lastLook); i++ {
		d.SetDeadline(time.Now().Add(lastLook))
		if nc, err := ln.Accept(); err == nil {
			s.take(nc, over)
		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
	}
}

// take starts to serve one connection.
func (s *Server) take(nc net.Conn, over *handedOver) {
	if s.std.ConnState != nil {
		s.std.ConnState(nc, http.StateNew)
	}
	c := newConn(s, nc, over)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	over.fresh.Add(1)
	if s.ending {
		c.retire(s.first)
	}
	go c.serve()
}

// drop forgets a connection that has ended or was passed to net/http.
func (s *Server) drop(c *conn) {
	c.asks()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.endedLocked()
}

func (s *Server) endedLocked() {
	if s.closed && len(s.conns) == 0 {
		select {
		case <-s.gone:
		default:
			close(s.gone)
		}
	}
}

func (s *Server) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// end calls f for every connection and closes the listeners. After a listener is
// closed, a connection begins no further request, except its first one.
func (s *Server) end(cut bool, first time.Duration, f func(*conn)) {
	s.mu.Lock()
	s.ending, s.cut, s.first = true, s.cut || cut, first
	all := slices.Collect(maps.Keys(s.conns))
	listeners := slices.Clone(s.listeners)
	s.mu.Unlock()
	for _, c := range all {
		f(c)
	}
	for _, ln := range listeners {
		if d, ok := ln.(deadlined); ok && !cut {
			d.SetDeadline(time.Now())
		} else {
			ln.Close()
		}
	}
	s.accepting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.endedLocked()
}

// Shutdown closes the listeners and the idle connections, and lets running requests
// finish until ctx ends. A new connection may still send its first request for a
// quarter of that time: the request may be on its way and would be lost.
func (s *Server) Shutdown(ctx context.Context) error {
	first := firstWait
	if end, ok := ctx.Deadline(); ok {
		first = min(first, time.Until(end)/4)
	}
	s.end(false, first, func(c *conn) { c.retire(first) })
	err := s.std.Shutdown(ctx)
	select {
	case <-s.gone:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes all listeners and connections at once.
func (s *Server) Close() error {
	s.end(true, 0, (*conn).cut)
	return s.std.Close()
}
