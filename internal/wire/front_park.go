package wire

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mcp-all-in-one/internal/loop"
)

// parking is what a connection needs to wait without a goroutine: for requests
// that repeat the head of the one before and that its lane can begin.
type parking struct {
	raw    syscall.RawConn
	conn   *loop.Conn // nil where there is none
	tried  bool
	misses int // of requests that the lane could not begin, one after the other
	stays  int // with its goroutine for so many requests
	read   func(fd uintptr)
	n      int
	err    error

	// What follows is guarded by conn.mu.
	on   bool
	tick uint64 // when it was used last
}

// maxMisses is how many requests may be of the wrong kind before a connection
// keeps its goroutine for the next stayFor that would not have needed it.
const (
	maxMisses = 3
	stayFor   = 16
)

var readBuffers = sync.Pool{New: func() any { return new([readSize]byte) }}

func newReadBuffer() []byte { return readBuffers.Get().(*[readSize]byte)[:] }

// park lets go of the goroutine, whose request somebody else answers; false when
// that has to read on.
func (c *conn) park() bool {
	p := &c.parking
	if c.start < c.end || !p.init(c.nc) {
		return false
	}
	if p.stays > 0 {
		p.stays--
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.later.over {
		c.later.begun = false
		if !<-c.later.finished {
			return false // it is closed, as reading will tell
		}
	}
	if c.retired {
		return false
	}
	c.start, c.end = 0, 0
	if len(c.buf) == readSize {
		readBuffers.Put((*[readSize]byte)(c.buf))
	}
	c.buf = nil
	p.tick = c.front.idle.arm(c.front)
	p.on = true
	p.conn.Listen(c)
	return true
}

func (p *parking) init(nc net.Conn) bool {
	if !p.tried {
		p.tried = true
		if c, ok := nc.(*loop.Conn); ok {
			p.conn = c
			p.raw, _ = c.SyscallConn()
			p.read = func(fd uintptr) { p.n, p.err = p.conn.Loop().Read(fd) }
		}
	}
	return p.conn != nil
}

// unparkLocked takes a connection from its loop; false when it was not there.
func (c *conn) unparkLocked() bool {
	p := &c.parking
	if !p.on {
		return false
	}
	p.on = false
	p.conn.Unlisten()
	return true
}

// restedLocked goes on after the answer of a parked connection, and unlocks.
func (c *conn) restedLocked(keep bool) {
	c.later.begun = false
	c.parking.tick = c.front.idle.ticks.Load()
	if !keep {
		c.cutLocked()
		return
	}
	c.mu.Unlock()
}

// Ready implements loop.Listener: the next request is here, or the client is gone.
func (c *conn) Ready(l *loop.Loop, last bool) {
	p := &c.parking
	c.mu.Lock()
	if !p.on {
		c.mu.Unlock()
		return
	}
	if c.busy || last {
		c.unparkLocked()
		c.mu.Unlock()
		c.resume(nil)
		return
	}
	c.busy, c.later.over, c.later.patient = true, false, false
	p.tick = c.front.idle.ticks.Load()
	c.mu.Unlock()
	if err := p.raw.Control(p.read); err != nil {
		p.n, p.err = 0, err
	}
	if p.n > 0 && c.begun(l, l.Buf[:p.n]) {
		return
	}
	nothing := p.err == syscall.EAGAIN
	c.mu.Lock()
	if c.busy = false; c.retired {
		c.cutLocked()
		return
	}
	resumes := !nothing && c.unparkLocked() // unless it was cut meanwhile
	c.mu.Unlock()
	if resumes {
		c.resume(l.Buf[:max(p.n, 0)])
	}
}

// begun has a request answered that is all here.
func (c *conn) begun(l *loop.Loop, data []byte) (ok bool) {
	if c.parking.misses++; c.parking.misses == maxMisses {
		c.parking.misses, c.parking.stays = 0, stayFor
	}
	n := c.head.again(data)
	if n == 0 || c.head.length != int64(len(data)-n) || len(data) == len(l.Buf) { // more may be there
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v)
			c.cut()
			ok = true
		}
	}()
	c.body.begin(c, 0)
	if !c.lane.Begin(&c.out, data[n:], &l.Turn) {
		return false
	}
	c.parking.misses, c.parking.stays = 0, 0
	return true
}

// resume gives the connection a goroutine again, with what was read of it.
func (c *conn) resume(read []byte) {
	c.buf = newReadBuffer()
	c.start, c.end = 0, copy(c.buf, read)
	c.due = time.Time{} // long over, it may be
	c.nc.SetReadDeadline(c.due)
	go c.serve(false)
}

// An idleWatch closes parked connections that nobody uses any more, and tells their
// lanes before. It looks now and then, not at every connection's own time.
type idleWatch struct {
	ticks atomic.Uint64
	armed atomic.Bool
}

// idleTicks is how often it looks while a connection may be idle.
const idleTicks = 8

// arm has it look from now on, and returns the time.
func (w *idleWatch) arm(f *Front) uint64 {
	if every := f.server.IdleTimeout / idleTicks; every > 0 && !w.armed.Swap(true) {
		time.AfterFunc(every, f.closeIdle)
	}
	return w.ticks.Load()
}

// closeIdle closes what has been idle for too long, and comes again while there
// is anything parked.
func (f *Front) closeIdle() {
	w := &f.idle
	w.armed.Store(false)
	now, parked := w.ticks.Add(1), false
	f.mu.Lock()
	all := make([]*conn, 0, len(f.conns))
	for c := range f.conns {
		all = append(all, c)
	}
	f.mu.Unlock()
	for _, c := range all {
		if c.mu.Lock(); c.parking.on && !c.busy && now-c.parking.tick > idleTicks {
			c.cutLocked()
			continue
		}
		if parked = parked || c.parking.on; c.parking.on && !c.busy && now-c.parking.tick > 1 {
			c.lane.Idle()
		}
		c.mu.Unlock()
	}
	if parked {
		w.arm(f)
	}
}
