package http1

import (
	"context"
	"errors"
	"os"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// watchAfter is how long a request runs, at least, before somebody looks whether
// its client is still there, and half of how long it runs at most: a client that leaves
// has its call ended within 100 ms. Most are answered long before.
const watchAfter = 40 * time.Millisecond

// errGone is the cause of the end of a request whose client hung up.
var errGone = i18n.Errorf("the client closed the connection", "客户端关闭了连接")

// A watch reads while a request is answered: the end of the connection ends the
// request, anything else is the next one.
type watch struct {
	on   bool
	done chan struct{} // nil until it reads
	gone bool
	// cancel ends the context of the request.
	cancel context.CancelCauseFunc
}

// begin notes that a request is being answered; false means that the connection
// is closed.
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

// asksLocked notes that the connection has had its first request, or will have
// none here.
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

// rest notes that the answer is written; false means that no other request
// follows.
func (c *conn) rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	return !c.retired
}

// unwatch ends the watch; false means that the connection is gone.
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

// interrupt makes a watch stop reading and waits for that.
func (c *conn) interrupt(done chan struct{}) {
	c.due = time.Unix(1, 0)
	c.nc.SetReadDeadline(c.due)
	<-done
	c.due = time.Time{}
	c.nc.SetReadDeadline(c.due)
}

// arm has long requests looked for, as long as there are requests.
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
	// Not after looking: a request that begins behind our back has to see it.
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

// look begins to watch a request that has run for a while; true means that one
// runs.
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

// read waits for whatever comes next. The handler has read the body, so the
// buffer is ours meanwhile.
func (c *conn) read(done chan struct{}) {
	defer close(done)
	if c.start == c.end {
		c.start, c.end = 0, 0
	}
	if c.end == len(c.buf) {
		return // the next request is there; it may wait
	}
	n, err := c.nc.Read(c.buf[c.end:])
	c.end += n
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	c.gone()
}

// gone ends the request whose client is not there any more.
func (c *conn) gone() {
	c.mu.Lock()
	c.watch.gone = true
	cancel := c.watch.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel(errGone)
	}
}

// retire closes the connection, when it has answered. One that has asked
// nothing may take some time for it.
func (c *conn) retire(first time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	switch {
	case c.busy, c.given:
	case c.asked:
		c.nc.Close()
	default:
		time.AfterFunc(first, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.asked && !c.given {
				c.nc.Close()
			}
		})
	}
}

// cut closes the connection.
func (c *conn) cut() { c.nc.Close() }
