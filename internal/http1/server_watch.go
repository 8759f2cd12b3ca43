package http1

import (
	"context"
	"errors"
	"os"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// watchAfter is the interval of the sweeps that look for long requests. A request
// is watched after it has run for one to two intervals, so if its client
// disconnects, the call ends within 100 ms. Most requests are answered long before.
const watchAfter = 40 * time.Millisecond

// errGone is the cause of a request's context when its client disconnects.
var errGone = i18n.Errorf("the client closed the connection", "客户端关闭了连接")

// A watch reads from the connection while a request is being answered. The end of
// the connection cancels the request; any data is the next request.
type watch struct {
	on   bool
	done chan struct{} // nil until the watch reads
	gone bool
	// cancel ends the context of the request.
	cancel context.CancelCauseFunc
}

// begin marks the connection as busy with a request; it reports false if the
// connection is closed.
func (c *conn) begin() bool {
	c.mu.Lock()
	if c.retired && c.asked {
		c.mu.Unlock()
		return false
	}
	c.asksLocked()
	c.busy, c.since = true, c.srv.sweeps.Load()
	c.watch.on = true
	c.mu.Unlock()
	if !c.srv.armed.Load() {
		c.srv.arm()
	}
	return true
}

func (c *conn) asks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asksLocked()
}

// asksLocked notes that the connection has had its first request, or will have none
// here.
func (c *conn) asksLocked() {
	if !c.asked {
		c.asked = true
		c.over.fresh.Done()
	}
}

// context returns the context of the current request.
func (c *conn) context() context.Context {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch.cancel = cancel
	if c.watch.gone {
		cancel(errGone)
	}
	return ctx
}

// rest marks the connection as idle; it reports false if no further request may
// follow.
func (c *conn) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return !c.retired
}

// unwatch ends the watch; it reports false if the client has disconnected.
func (c *conn) unwatch() bool {
	c.mu.Lock()
	c.watch.on = false
	w := c.watch
	if w.done == nil {
		c.watch = watch{}
	}
	c.mu.Unlock()
	if w.cancel != nil {
		defer w.cancel(nil)
	}
	if w.done == nil {
		return true
	}
	c.interrupt(w.done)
	c.mu.Lock()
	defer c.mu.Unlock()
	here := !c.watch.gone
	c.watch = watch{}
	return here
}

// interrupt stops the read of a watch and waits for its goroutine.
func (c *conn) interrupt(done chan struct{}) {
	c.due = time.Unix(1, 0)
	c.nc.SetReadDeadline(c.due)
	<-done
	c.due = time.Time{}
	c.nc.SetReadDeadline(c.due)
}

// arm starts the sweeps for long requests. They go on as long as requests run.
func (s *Server) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed.Swap(true) {
		return
	}
	if s.sweeper == nil {
		s.sweeper = time.AfterFunc(watchAfter, s.sweep)
	} else {
		s.sweeper.Reset(watchAfter)
	}
}

func (s *Server) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Store before looking: a request that begins during the sweep must see false
	// and arm again.
	s.armed.Store(false)
	now, busy := s.sweeps.Add(1), false
	for c := range s.conns {
		if c.look(now) {
			busy = true
		}
	}
	if busy {
		s.armed.Store(true)
		s.sweeper.Reset(watchAfter)
	}
}

// look begins to watch a request that has run for a while; it reports whether a
// request runs.
func (c *conn) look(sweep uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch.on && c.watch.done == nil && sweep-c.since > 1 && c.body.all.Load() {
		c.watch.done = make(chan struct{})
		c.nc.SetReadDeadline(time.Time{}) // before unwatch sets another
		go c.read(c.watch.done)
	}
	return c.watch.on
}

// read waits for input. The handler has read the body, so no other goroutine uses
// the buffer.
func (c *conn) read(done chan struct{}) {
	defer close(done)
	if c.start < c.end {
		return // the client has sent its next request and waits, even if it sends no more
	}
	n, err := c.nc.Read(c.buf)
	c.start, c.end = 0, n
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.gone()
}

// gone cancels the request whose client has disconnected.
func (c *conn) gone() {
	c.mu.Lock()
	c.watch.gone = true
	cancel := c.watch.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel(errGone)
	}
}

// retire closes the connection after the current response. A connection without a
// request may wait for its first one.
func (c *conn) retire(first time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	switch {
	case !c.asked:
		time.AfterFunc(first, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.asked {
				c.nc.Close()
			}
		})
	case !c.busy && !c.given:
		c.nc.Close()
	}
}

// cut closes the connection.
func (c *conn) cut() { c.nc.Close() }
