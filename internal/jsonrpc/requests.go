package jsonrpc

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// requests holds the requests of the peer that are in flight.
type requests struct {
	mu   sync.Mutex
	room sync.Cond
	// byID has the requests by the hash of their id; see inbound.next.
	byID    [64]*inbound
	running int
	// queue waits for room while the reader goes on.
	queue  []*inbound
	queued int // bytes of params in queue
	closed bool
	parked atomic.Bool // the reader waits, or is about to

	idle []*worker
	over bool // no request will come any more
}

// How many requests, and bytes of params, wait beside those that run, while
// the reader has to go on because we wait for answers of the peer.
const (
	maxQueued      = 1024
	maxQueuedBytes = 16 << 20
)

var idSeed = maphash.MakeSeed()

func (r *requests) init() {
	r.room.L = &r.mu
}

// bucket is where a request with that hash is found.
func (r *requests) bucket(hash uint64) **inbound { return &r.byID[hash%uint64(len(r.byID))] }

// find returns the request of that id, compared byte for byte: 1 is not "1".
func (r *requests) find(hash uint64, id []byte) *inbound {
	in := *r.bucket(hash)
	for in != nil && (in.hash != hash || !bytes.Equal(in.id, id)) {
		in = in.next
	}
	return in
}

// remove forgets the id of a request, so that it can be used again.
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

// What admit says of a request.
type admission uint8

const (
	requestStarts admission = iota
	requestQueued
	requestRefused
)

// admit notes that a request is in flight, unless its id is already and must
// not be. It waits for room, but when we ourselves wait for the peer it queues
// the request and lets the reader go on: the answers that would make room may be
// behind it.
//
// It returns a worker that waits, nil if there is none.
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
		in.cancel(ErrClosed)
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

// leave makes room, or returns the next request that waits for it. With none
// left the worker waits for one; the last result says that it shall not.
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

// await waits until a request is answered, or until somebody waits for the
// peer, whose answer would never be read otherwise.
func (r *requests) await(in *inbound, asking func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parked.Store(true)
	for !in.left && !r.closed && !asking() {
		r.room.Wait()
	}
	r.parked.Store(false)
}

// wake lets a reader that waits for room look again.
func (r *requests) wake() {
	if r.parked.Load() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.room.Signal()
	}
}

// close lets nobody wait any more and ends the contexts of all requests.
func (r *requests) close() {
	r.mu.Lock()
	r.closed = true
	r.room.Broadcast()
	r.mu.Unlock()
	for _, in := range r.inFlight() {
		in.cancel(ErrClosed)
	}
}

// cancel ends the context of the request with that id.
func (r *requests) cancel(id []byte, uncancellable string) {
	r.mu.Lock()
	in := r.find(maphash.Bytes(idSeed, id), id)
	r.mu.Unlock()
	if in != nil && (in.req.Method != uncancellable || uncancellable == "") {
		in.cancelByPeer()
	}
}
