package duplex

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/jsonrpc"
)

// requests holds the requests of the peer that are in flight.
type requests struct {
	mu   sync.Mutex
	room sync.Cond
	// byID holds the requests by the hash of their id, linked by inbound.next.
	byID    [64]*inbound
	running int
	// queue holds requests that wait for room while the reader continues.
	queue  []*inbound
	queued int // bytes of params in queue
	closed bool
	parked atomic.Bool // the reader waits, or is about to wait

	idle []*worker
	over bool // no further requests
}

// Limits for the requests, and the bytes of their params, that wait in queue
// while the reader has to continue because we wait for answers of the peer.
const (
	maxQueued      = 1024
	maxQueuedBytes = 16 << 20
)

var idSeed = maphash.MakeSeed()

func (r *requests) init() {
	r.room.L = &r.mu
}

// bucket returns the bucket for a hash.
func (r *requests) bucket(hash uint64) **inbound { return &r.byID[hash%uint64(len(r.byID))] }

// find returns the request with the given id, compared byte for byte: 1 is not
// "1".
func (r *requests) find(hash uint64, id []byte) *inbound {
	in := *r.bucket(hash)
	for in != nil && (in.hash != hash || !bytes.Equal(in.id, id)) {
		in = in.next
	}
	return in
}

// remove removes a request, so that its id can be reused.
func (r *requests) remove(in *inbound) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.bucket(in.hash)
	for *at != nil && *at != in {
		at = &(*at).next
	}
	if *at == in {
		*at = in.next
	}
}

// An admission is the result of admit.
type admission uint8

const (
	requestStarts admission = iota
	requestQueued
	requestRefused
)

// admit registers a request as in flight; with Strict, it refuses an id that is
// already in flight. It waits for room. If we wait for the peer ourselves,
// admit queues the request instead and lets the reader continue: the answers
// that would make room may come after this request.
//
// It returns an idle worker, nil if there is none.
func (r *requests) admit(in *inbound, opt *ConnOptions, asking func() bool) (admission, *worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if opt.Strict && r.find(in.hash, in.id) != nil {
		return requestRefused, nil
	}
	at := r.bucket(in.hash)
	in.next, *at = *at, in
	if r.running >= opt.MaxInFlight {
		r.parked.Store(true)
		defer r.parked.Store(false)
	}
	for r.running >= opt.MaxInFlight && !r.closed {
		if asking() && len(r.queue) < maxQueued && r.queued < maxQueuedBytes {
			r.queue = append(r.queue, in)
			r.queued += len(in.req.Params)
			return requestQueued, nil
		}
		r.room.Wait()
	}
	if r.closed {
		in.cancel(jsonrpc.ErrClosed)
	}
	r.running++
	n := len(r.idle)
	if n == 0 {
		return requestStarts, nil
	}
	w := r.idle[n-1]
	r.idle = r.idle[:n-1]
	return requestStarts, w
}

// leave frees the place of a request, or returns the next queued request. If
// there is none, the worker becomes idle; dismissed reports that it must end
// instead.
func (r *requests) leave(in *inbound, w *worker) (next *inbound, dismissed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.left = true
	r.room.Signal()
	if len(r.queue) > 0 {
		next = r.queue[0]
		r.queue[0] = nil
		r.queue = r.queue[1:]
		r.queued -= len(next.req.Params)
		return next, false
	}
	r.running--
	if r.over {
		return nil, true
	}
	r.idle = append(r.idle, w)
	return nil, false
}

// await waits until a request is answered, or until a call to the peer is
// pending, because its answer would never be read otherwise.
func (r *requests) await(in *inbound, asking func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parked.Store(true)
	for !in.left && !r.closed && !asking() {
		r.room.Wait()
	}
	r.parked.Store(false)
}

// wake lets a reader that waits for room check again.
func (r *requests) wake() {
	if r.parked.Load() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.room.Signal()
	}
}

// close wakes all waiters and cancels the contexts of all requests.
func (r *requests) close() {
	r.mu.Lock()
	r.closed = true
	r.room.Broadcast()
	r.mu.Unlock()
	for _, in := range r.inFlight() {
		in.cancel(jsonrpc.ErrClosed)
	}
}

// cancel cancels the context of the request with the given id.
func (r *requests) cancel(id []byte, uncancellable string) {
	r.mu.Lock()
	in := r.find(maphash.Bytes(idSeed, id), id)
	r.mu.Unlock()
	if in != nil && (in.req.Method != uncancellable || uncancellable == "") {
		in.cancelByPeer()
	}
}
