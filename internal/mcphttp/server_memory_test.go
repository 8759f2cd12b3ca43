package mcphttp_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcphttp"
)

// A memoryListener accepts connections without a network, for tests with fake time.
type memoryListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

var memoryAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

func (m *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memoryListener) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *memoryListener) Addr() net.Addr { return memoryAddr }

func (m *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := memoryPipe()
	select {
	case m.conns <- theirs:
		return ours, nil
	case <-m.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pass lets the fake time of a bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// newMemoryWorld is newWorld for use within a synctest bubble. Its close must be
// called at the end of the bubble.
func newMemoryWorld(t *testing.T, lim mcphttp.ServerLimits) *world {
	m := &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
	return newWorldOn(t, lim, m, m.dial)
}

// memoryPipe returns a connection that buffers written data until it is read, as a
// socket does, up to a limit.
func memoryPipe() (net.Conn, net.Conn) {
	a, b := newHalf(), newHalf()
	return &memoryConn{r: a, w: b}, &memoryConn{r: b, w: a}
}

const socketBuffer = 64 << 10

// A half is one direction of a connection.
type half struct {
	mu         sync.Mutex
	buf        bytes.Buffer
	closed     bool
	rDue, wDue time.Time
	changed    chan struct{}
}

func newHalf() *half { return &half{changed: make(chan struct{})} }

func (h *half) signalLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// waitLocked blocks until ok, the deadline, or the end. It is called with mu held.
func (h *half) waitLocked(ok func() bool, due *time.Time) error {
	for !ok() {
		if h.closed {
			return io.EOF
		}
		changed := h.changed
		var timeout <-chan time.Time
		if !due.IsZero() {
			left := time.Until(*due)
			if left <= 0 {
				return os.ErrDeadlineExceeded
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			timeout = timer.C
		}
		h.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
		}
		h.mu.Lock()
	}
	return nil
}

type memoryConn struct{ r, w *half }

func (c *memoryConn) Read(p []byte) (int, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if err := c.r.waitLocked(func() bool { return c.r.buf.Len() > 0 }, &c.r.rDue); err != nil {
		return 0, err
	}
	n, err := c.r.buf.Read(p)
	c.r.signalLocked()
	return n, err
}

func (c *memoryConn) Write(p []byte) (n int, err error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for n < len(p) {
		err := c.w.waitLocked(func() bool { return c.w.buf.Len() < socketBuffer && !c.w.closed }, &c.w.wDue)
		if err == io.EOF {
			err = io.ErrClosedPipe
		}
		if err == nil && !c.w.wDue.IsZero() && time.Until(c.w.wDue) <= 0 {
			err = os.ErrDeadlineExceeded
		}
		if err != nil {
			return n, err
		}
		m := min(len(p)-n, socketBuffer-c.w.buf.Len())
		c.w.buf.Write(p[n : n+m])
		n += m
		c.w.signalLocked()
	}
	return n, nil
}

func (c *memoryConn) Close() error {
	for _, h := range []*half{c.r, c.w} {
		h.mu.Lock()
		if !h.closed {
			h.closed = true
			h.signalLocked()
		}
		h.mu.Unlock()
	}
	return nil
}

func (c *memoryConn) LocalAddr() net.Addr  { return memoryAddr }
func (c *memoryConn) RemoteAddr() net.Addr { return memoryAddr }

func (c *memoryConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.r.rDue = t
	c.r.signalLocked()
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.wDue = t
	c.w.signalLocked()
	return nil
}
