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

// A Server serves like an http.Server: plain POSTs itself, the rest with the
// http.Server that it was made with, which gets the same connections and has the
// same handler and limits.
//
// A handler must not change the header of a request: the next request that
// repeats it has the same one.
type Server struct {
	std *http.Server

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*conn]struct{}
	accepting sync.WaitGroup // listeners that connections may come from
	ending    bool
	first     time.Duration // for what has asked nothing when the server ends
	cut       bool          // nothing is waited for
	closed    bool          // no connection comes any more
	gone      chan struct{} // closed when the last connection ended, once closed
	sweeper   *time.Timer
	armed     atomic.Bool
	sweeps    atomic.Uint64
}

// NewServer returns a Server with the settings of std, which belongs to it: the
// Server is the one to shut down.
func NewServer(std *http.Server) *Server {
	return &Server{std: std, conns: make(map[*conn]struct{}), gone: make(chan struct{})}
}

// Listen opens a listener at which a Server can end without breaking a
// connection. It is one of plain TCP: those of MPTCP, which Go opens otherwise,
// cannot be told to let nobody connect any more.
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
		over.fresh.Wait() // what they ask may be for net/http, which is to be there
	}
	s.accepting.Done()
	over.Close()
	if restErr := <-rest; err == nil {
		err = restErr
	}
	return err
}

// begin notes a listener; false when the server has ended.
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
		// Like net/http: what is short now may be there in a moment.
		//lint:ignore SA1019 there is no other way to tell
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Temporary() {
			return err
		}
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		<-time.After(pause)
	}
}

// deadlined is a listener that need not be closed to be interrupted.
type deadlined interface {
	net.Listener
	SetDeadline(t time.Time) error
}

const (
	// lastLook is how long a listener is asked once more for a connection, and
	// lastLooks how often at most: the backlog of a system is not longer.
	lastLook  = 2 * time.Millisecond
	lastLooks = 4096
)

// last takes those who have connected already, and closes the listener when
// there is nobody: closing it would break their connections, with requests on
// them. Where the system can, nobody connects any more meanwhile.
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

// take serves one connection.
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

// drop forgets a connection that ended or was handed over.
func (s *Server) drop(c *conn) {
	c.mu.Lock()
	c.asksLocked()
	c.mu.Unlock()
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

// end calls f for every connection and closes the listeners. When a listener is
// seen closed, no connection begins another request: at most its first.
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

// Shutdown closes the listeners and what is idle, and lets what is being
// answered finish until ctx ends. Who has just connected may still ask, for a
// quarter of that time: the request may be on its way, and would be lost.
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

// Close ends everything at once.
func (s *Server) Close() error {
	s.end(true, 0, (*conn).cut)
	return s.std.Close()
}
