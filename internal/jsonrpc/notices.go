package jsonrpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// notices delivers the peer's notifications in order, aside of the reader: a
// handler that is slow delays other notifications, never an answer, or a request
// to the accepting side, for long.
type notices struct {
	busy atomic.Bool // a goroutine is delivering
	mu   sync.Mutex
	// queue is what waits; the one being delivered has left it.
	queue []notice
	size  int // bytes of params in queue
	// since is the newest call of ours when the last notification came.
	since uint64
	idle  chan struct{} // closed when all is delivered; nil if nobody waits
	slow  bool          // nobody waits for this handler until it caught up
}

type notice struct {
	Notification
	ctx     context.Context
	handler Handler
	release func()
}

const (
	maxNotices     = 1024
	maxNoticeBytes = 16 << 20
	// patience is how long an answer or a request waits for the notifications
	// before it.
	patience = 100 * time.Millisecond
)

// notify queues a notification for the handler.
func (c *Conn) notify(msg *Message, data []byte, release func()) {
	ctx, handler := c.ctx, c.opt.Handler
	if msg.tag != nil {
		ctx, handler = c.opt.Tags.whose(c, ctx, msg.tag)
	}
	if handler == nil {
		free(release)
		return
	}
	q := &c.notices
	since := c.calls.newest()
	q.mu.Lock()
	if len(q.queue) >= maxNotices || q.size >= maxNoticeBytes {
		q.mu.Unlock()
		c.dropped("notification queue full", data)
		free(release)
		return
	}
	q.queue = append(q.queue, notice{Notification{msg.Method, msg.Params}, ctx, handler, release})
	q.size += len(msg.Params)
	q.since = since
	start := !q.busy.Load()
	q.busy.Store(true)
	q.mu.Unlock()
	if start {
		c.running.Go(c.deliver)
	}
}

// deliver hands over what is queued, then ends.
func (c *Conn) deliver() {
	q := &c.notices
	var batch []notice
	for {
		q.mu.Lock()
		batch, q.queue, q.size = q.queue, batch[:0], 0
		if len(batch) == 0 {
			q.busy.Store(false)
			q.slow = false
			if q.idle != nil {
				close(q.idle)
				q.idle = nil
			}
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for i := range batch {
			c.deliverOne(&batch[i])
			batch[i] = notice{}
		}
	}
}

func (c *Conn) deliverOne(n *notice) {
	defer free(n.release)
	defer c.recovered(n.Method)
	if c.ctx.Err() == nil {
		n.handler.HandleNotification(n.ctx, c, &n.Notification)
	}
}

// settle makes the answer to a call wait, for a while, until notifications
// that came before it are delivered: progress belongs before the result. An
// answer to a call made since then does not wait, since it may be a handler
// of these very notifications that asked. A request, whose id is 0, waits
// always.
func (c *Conn) settle(id uint64) {
	q := &c.notices
	if !q.busy.Load() {
		return
	}
	q.mu.Lock()
	if !q.busy.Load() || q.slow || id > q.since {
		q.mu.Unlock()
		return
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-c.ctx.Done():
	case <-timer.C:
		q.mu.Lock()
		q.slow = q.busy.Load()
		q.mu.Unlock()
	}
}

func free(release func()) {
	if release != nil {
		release()
	}
}
