package loop

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A gate is where goroutines wait until something may be read, or written.
type gate struct {
	seen    atomic.Uint64 // how often that was told
	waiting atomic.Int32

	mu     sync.Mutex
	cond   sync.Cond
	due    time.Time
	timer  *time.Timer
	closed bool
}

// open lets through who waits.
func (g *gate) open() {
	g.seen.Add(1)
	if g.waiting.Load() > 0 {
		g.wake()
	}
}

func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cond.Broadcast()
}

// enter says how often the gate has opened, or why nobody may pass.
func (g *gate) enter() (seen uint64, err error) {
	seen = g.seen.Load()
	g.mu.Lock()
	defer g.mu.Unlock()
	return seen, g.shutLocked()
}

// shutLocked says why nobody may pass.
func (g *gate) shutLocked() error {
	if g.closed {
		return net.ErrClosed
	}
	if !g.due.IsZero() && !time.Now().Before(g.due) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait returns when the gate has opened more often than seen.
func (g *gate) wait(seen uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for g.seen.Load() == seen {
		if err := g.shutLocked(); err != nil {
			return err
		}
		g.cond.L = &g.mu
		g.cond.Wait()
	}
	return nil
}

// deadline bounds waiting; zero is none.
func (g *gate) deadline(t time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return net.ErrClosed // a timer would keep the file
	}
	if t.IsZero() && g.due.IsZero() {
		return nil
	}
	g.due = t
	switch {
	case t.IsZero():
		g.timer.Stop()
	case g.timer == nil:
		g.timer = time.AfterFunc(time.Until(t), g.wake)
	default:
		g.timer.Reset(time.Until(t))
	}
	g.cond.Broadcast()
	return nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
	g.cond.Broadcast()
}
