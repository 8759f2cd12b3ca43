package wire

import (
	"context"
	"errors"
	"os"
	"time"

	"mcp-all-in-one/internal/say"
)

// watchAfter is how long a request runs before somebody looks whether its
// client is still there. Most are answered long before.
const watchAfter = 100 * time.Millisecond

var errGone = say.Errorf("the client closed the connection", "客户端关闭了连接")

// A watch reads while a request is answered: the end of the connection ends the
// request, anything else is the next one.
type watch struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // nil until it reads
	gone   bool          // read after done
}

// begin notes that a request is being answered; false means that the connection
// is closed.
func (c *conn) begin(cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	if c.retired {
		c.mu.Unlock()
		return false
	}
	c.busy, c.since = true, time.Now()
	c.watch = &watch{cancel: cancel}
	c.mu.Unlock()
	if !c.front.armed.Load() {
		c.front.arm()
	}
	return true
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
	w := c.watch
	c.watch = nil
	c.mu.Unlock()
	if w.done == nil {
		return true
	}
	c.due = time.Unix(1, 0)
	c.nc.SetReadDeadline(c.due)
	<-w.done
	c.due = time.Time{}
	c.nc.SetReadDeadline(c.due)
	return !w.gone
}

// arm has long requests looked for, as long as there are requests.
func (f *Front) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.armed.Swap(true) {
		return
	}
	if f.sweeper == nil {
		f.sweeper = time.AfterFunc(watchAfter, f.sweep)
	} else {
		f.sweeper.Reset(watchAfter)
	}
}

func (f *Front) sweep() {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Not after looking: a request that begins behind our back has to see it.
	f.armed.Store(false)
	now, busy := time.Now(), false
	for c := range f.conns {
		if c.look(now) {
			busy = true
		}
	}
	if busy {
		f.armed.Store(true)
		f.sweeper.Reset(watchAfter)
	}
}

// look begins to watch a request that has run for a while; true means that one
// runs.
func (c *conn) look(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch != nil && c.watch.done == nil && now.Sub(c.since) >= watchAfter && c.body.all.Load() {
		c.watch.done = make(chan struct{})
		c.nc.SetReadDeadline(time.Time{}) // before unwatch sets another
		go c.read(c.watch)
	}
	return c.watch != nil
}

// read waits for whatever comes next. The handler has read the body, so the
// buffer is ours meanwhile.
func (c *conn) read(w *watch) {
	defer close(w.done)
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
	w.gone = true
	w.cancel(errGone)
}

// retire closes the connection, when it has answered.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	if !c.busy {
		c.nc.Close()
	}
}
