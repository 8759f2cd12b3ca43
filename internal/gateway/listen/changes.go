package listen

import (
	"context"
	"sync"
	"time"
)

const (
	// changeDelay is how long changes of several servers are collected into one
	// notification.
	changeDelay  = 50 * time.Millisecond
	announceWait = 5 * time.Second
)

// Changes notifies clients of changed lists.
type Changes struct {
	// Announce sends the notifications.
	Announce func(context.Context)

	mu      sync.Mutex
	timer   *time.Timer
	pending bool
	stopped bool
	wg      sync.WaitGroup
}

// Note reports a change. It never blocks.
func (c *Changes) Note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending || c.stopped {
		return
	}
	c.pending = true
	c.wg.Add(1)
	c.timer = time.AfterFunc(changeDelay, c.announce)
}

func (c *Changes) announce() {
	defer c.wg.Done()
	c.mu.Lock()
	c.pending = false
	stopped := c.stopped
	c.mu.Unlock()
	if stopped {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), announceWait)
	defer cancel()
	c.Announce(ctx)
}

// Stop ends the notifications, and waits for the one in progress.
func (c *Changes) Stop() {
	c.mu.Lock()
	c.stopped = true
	if c.timer != nil && c.timer.Stop() && c.pending {
		c.pending = false
		c.wg.Done()
	}
	c.mu.Unlock()
	c.wg.Wait()
}
