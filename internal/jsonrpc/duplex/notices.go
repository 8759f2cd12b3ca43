package duplex

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// notices delivers the peer's notifications in order, in their own goroutine. A
// slow handler delays other notifications; it delays an answer, or a request to
// the accepting side, by patience at most.
type notices struct {
	opt     *ConnOptions
	ctx     context.Context // of handlers
	from    jsonrpc.Peer
	running *sync.WaitGroup // counts the delivering goroutine

	busy atomic.Bool // a goroutine is delivering
	mu   sync.Mutex
	// queue holds the waiting notifications, without the one being delivered.
	queue []notice
	size  int // bytes of params in queue
	// since is the id of our newest call when the last notification arrived.
	since uint64
	idle  chan struct{} // closed when the queue is empty; nil without a waiter
	slow  bool          // the handler exceeded patience; do not wait until it has caught up
}

type notice struct {
	jsonrpc.Notification
	ctx     context.Context
	handler jsonrpc.Handler
	release func()
}

const (
	maxNotices     = 1024
	maxNoticeBytes = 16 << 20
	// patience is how long an answer or a request waits for the notifications
	// before it.
	patience = 100 * time.Millisecond
)

// add queues a notification for its handler; since is the id of our newest
// call.
func (q *notices) add(n notice, since uint64, data []byte) {
	q.mu.Lock()
	if len(q.queue) >= maxNotices || q.size >= maxNoticeBytes {
		q.mu.Unlock()
		q.opt.dropped("notification queue full", data)
		free(n.release)
		return
	}
	q.queue = append(q.queue, n)
	q.size += len(n.Params)
	q.since = since
	start := !q.busy.Load()
	q.busy.Store(true)
	q.mu.Unlock()
	if start {
		q.running.Go(q.deliver)
	}
}

// deliver delivers the queued notifications, then returns.
func (q *notices) deliver() {
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
			q.deliverOne(&batch[i])
			batch[i] = notice{}
		}
	}
}

func (q *notices) deliverOne(n *notice) {
	defer free(n.release)
	defer q.opt.recovered(n.Method)
	if q.ctx.Err() == nil {
		n.handler.HandleNotification(n.ctx, q.from, &n.Notification)
	}
}

// awaitEarlier makes the answer to call id wait, for patience at most, until earlier
// notifications are delivered: progress must arrive before the result. The
// answer to a call that is newer than these notifications does not wait,
// because one of their handlers may have made that call. A request, with id 0,
// always waits.
func (q *notices) awaitEarlier(id uint64) {
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
	case <-q.ctx.Done():
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
