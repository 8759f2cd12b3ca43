package lines

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

var errLineBreak = i18n.Errorf("message has a raw line break where JSON allows none; it was not written", "消息中有 JSON 不允许的换行；没有写入")

// A vectorWriter writes several buffers with one system call and removes the
// written data from bufs. If wait is false and the pipe is full, it returns with
// buffers left.
type vectorWriter interface {
	writev(bufs *[][]byte, wait bool) error
}

// A writeQueue combines concurrent writes. If no write is in progress, a writer
// writes its message at once. Messages that are queued meanwhile are written
// together by one goroutine, which exits when the queue is empty.
type writeQueue struct {
	w     io.Writer
	vec   vectorWriter
	delim byte

	mu      sync.Mutex
	changed sync.Cond
	next    *batch // collects messages while another batch is being written
	spare   *batch
	busy    bool
	queued  uint64 // number of messages accepted
	written uint64 // number of messages written or lost; their bytes are no longer used
	pending int    // bytes of the messages accepted but not yet written
	lone    int    // batches of one message since the last larger one
	err     error

	flusher sync.WaitGroup
}

func (q *writeQueue) init(w io.Writer, delim byte) {
	q.w, q.delim = w, delim
	q.vec = newVectorWriter(w)
	q.changed.L = &q.mu
	q.next, q.spare = &batch{}, &batch{}
}

func (q *writeQueue) write(parts [][]byte) error {
	parts, err := q.oneLine(parts)
	if err != nil {
		return err
	}
	size, large := 1, false
	for _, p := range parts {
		size += len(p)
		large = large || len(p) >= largePart
	}
	q.mu.Lock()
	for q.err == nil && q.pending > 0 && q.pending+size > maxPending {
		q.changed.Wait()
	}
	if q.err != nil {
		defer q.mu.Unlock()
		return q.err
	}
	q.next.add(parts, q.delim)
	q.pending += size
	q.queued++
	ticket := q.queued
	if !q.busy {
		q.busy = true
		return q.lead(large)
	}
	if !large {
		q.mu.Unlock()
		return nil
	}
	// The large part is in the caller's memory: wait until it is written.
	defer q.mu.Unlock()
	for q.written < ticket {
		q.changed.Wait()
	}
	return q.err
}

// leadBatches is how many batches a writer writes before the flusher takes over.
// The writer's own message is in the first one.
const leadBatches = 4

// A writer yields until yieldAtFirst messages in a row were written alone, and
// then every yieldEvery messages, to see whether others write now: to yield wakes
// a thread, which a single caller would wait for with every message.
const (
	yieldAtFirst = 16
	yieldEvery   = 32
)

// lead writes the batch with the caller's message, and a few batches that are
// queued meanwhile. It is called with q.mu held and unlocks it. If wait is false
// and the pipe is full, the flusher writes the rest.
func (q *writeQueue) lead(wait bool) error {
	defer q.mu.Unlock()
	if q.lone < yieldAtFirst || q.lone%yieldEvery == 0 {
		// Let goroutines that are about to write join this batch: with 16 calls in
		// flight there are 0.4 writes per call instead of 1.6.
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
	var first error
	for n := range leadBatches {
		b, upto := q.takeLocked()
		q.mu.Unlock()
		left := b.vector()
		err := q.flush(left, wait && n == 0)
		q.mu.Lock()
		if n == 0 {
			first = err
		}
		if err == nil && len(*left) > 0 {
			q.flusher.Go(func() { q.finishBatch(b, upto) })
			return first
		}
		if q.doneLocked(b, upto, err); !q.busy {
			return first
		}
	}
	q.flusher.Go(q.drain)
	return first
}

// finishBatch writes the rest of a batch, and the messages queued meanwhile.
func (q *writeQueue) finishBatch(b *batch, upto uint64) {
	err := q.flush(&b.left, true)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.doneLocked(b, upto, err)
	q.drainLocked()
}

func (q *writeQueue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drainLocked()
}

// drainLocked writes until the queue is empty.
func (q *writeQueue) drainLocked() {
	for q.busy {
		b, upto := q.takeLocked()
		q.mu.Unlock()
		err := q.flush(b.vector(), true)
		q.mu.Lock()
		q.doneLocked(b, upto, err)
	}
}

func (q *writeQueue) takeLocked() (b *batch, upto uint64) {
	if q.lone++; q.queued-q.written > 1 {
		q.lone = 0
	}
	b = q.next
	q.next, q.spare = q.spare, nil
	return b, q.queued
}

// doneLocked records a batch as written or lost. It leaves busy set if more
// messages are queued.
func (q *writeQueue) doneLocked(b *batch, upto uint64, err error) {
	q.pending -= b.size
	q.written = upto
	b.reset()
	q.spare = b
	if err != nil && q.err == nil {
		q.err = i18n.Errorf("writing to pipe: %w", "写入管道失败：%w", err)
	}
	if q.err != nil {
		q.pending -= q.next.size
		q.written = q.queued
		q.next.reset()
	}
	q.busy = q.next.size > 0
	q.changed.Broadcast()
}

// flush writes bufs. It returns with buffers left only if wait is false.
func (q *writeQueue) flush(bufs *[][]byte, wait bool) error {
	if q.vec != nil {
		return q.vec.writev(bufs, wait)
	}
	for _, b := range *bufs {
		if _, err := q.w.Write(b); err != nil {
			return err
		}
	}
	*bufs = nil
	return nil
}

// finish waits until the queued messages are written, but at most for limit. After
// that, write refuses further messages.
func (q *writeQueue) finish(limit time.Duration) {
	late := false
	timer := time.AfterFunc(limit, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		late = true
		q.changed.Broadcast()
	})
	defer timer.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && q.pending > 0 && !late {
		q.changed.Wait()
	}
	if q.err == nil {
		q.err = i18n.Errorf("writing to pipe: %w", "写入管道失败：%w", os.ErrClosed)
	}
	q.changed.Broadcast()
}

// wait returns when no write is in progress. It must be called after finish.
func (q *writeQueue) wait() {
	q.mu.Lock()
	for q.busy {
		q.changed.Wait()
	}
	q.mu.Unlock()
	q.flusher.Wait()
}

// oneLine returns parts without line breaks. A carriage return counts as a line
// break: text-mode readers (Python's, for example) end a line at it.
func (q *writeQueue) oneLine(parts [][]byte) ([][]byte, error) {
	if !slices.ContainsFunc(parts, q.breaks) {
		return parts, nil
	}
	whole := jsonrpc.Compact(nil, slices.Concat(parts...))
	if q.breaks(whole) {
		return nil, errLineBreak
	}
	return [][]byte{whole}, nil
}

func (q *writeQueue) breaks(p []byte) bool {
	return jsonrpc.HasLineBreak(p) ||
		q.delim != '\n' && bytes.IndexByte(p, q.delim) >= 0
}
