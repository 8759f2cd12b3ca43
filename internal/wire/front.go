package wire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Front serves the connections of a listener: plain POSTs itself, the rest
// with an http.Server, which gets the same requests and the same handler.
type Front struct {
	server   *http.Server
	listener net.Listener
	over     *handedOver

	mu      sync.Mutex
	conns   map[*conn]struct{}
	ending  bool
	gone    chan struct{} // closed when the last connection ended, once ending
	sweeper *time.Timer
	armed   atomic.Bool
	sweeps  atomic.Uint64
}

// NewFront serves what comes to ln like s. The Front is the one to shut down;
// s belongs to it.
func NewFront(s *http.Server, ln net.Listener) *Front {
	return &Front{
		server: s, listener: ln, conns: make(map[*conn]struct{}), gone: make(chan struct{}),
		over: &handedOver{addr: ln.Addr(), conns: make(chan net.Conn), closed: make(chan struct{})},
	}
}

// Serve accepts connections until Shutdown or Close, and then returns
// http.ErrServerClosed.
func (f *Front) Serve() error {
	rest := make(chan error, 1)
	go func() { rest <- f.server.Serve(f.over) }()
	err := f.accept()
	f.over.Close()
	if restErr := <-rest; err == nil {
		err = restErr
	}
	return err
}

func (f *Front) accept() error {
	var pause time.Duration
	for {
		nc, err := f.listener.Accept()
		if err == nil {
			pause = 0
			f.take(nc)
			continue
		}
		if f.isEnding() {
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

// take serves one connection.
func (f *Front) take(nc net.Conn) {
	if f.server.ConnState != nil {
		f.server.ConnState(nc, http.StateNew)
	}
	c := newConn(f, nc)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		nc.Close()
		return
	}
	f.conns[c] = struct{}{}
	go c.serve()
}

// drop forgets a connection that ended or was handed over.
func (f *Front) drop(c *conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	f.endedLocked()
}

func (f *Front) endedLocked() {
	if f.ending && len(f.conns) == 0 {
		select {
		case <-f.gone:
		default:
			close(f.gone)
		}
	}
}

func (f *Front) isEnding() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ending
}

// end refuses new connections and returns those there are.
func (f *Front) end() []*conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	f.endedLocked()
	all := make([]*conn, 0, len(f.conns))
	for c := range f.conns {
		all = append(all, c)
	}
	return all
}

// Shutdown closes the listener and what is idle, and lets what is being
// answered finish until ctx ends.
func (f *Front) Shutdown(ctx context.Context) error {
	for _, c := range f.end() {
		c.retire()
	}
	f.listener.Close()
	err := f.server.Shutdown(ctx)
	select {
	case <-f.gone:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends everything at once.
func (f *Front) Close() error {
	for _, c := range f.end() {
		c.cut()
	}
	f.listener.Close()
	return f.server.Close()
}
