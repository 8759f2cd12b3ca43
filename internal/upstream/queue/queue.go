// Package queue decides which calls run on a server, which wait, and which are
// refused.
package queue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
)

// A Semaphore limits concurrency to a number of places. A nil Semaphore has no
// limit.
type Semaphore chan struct{}

// NewSemaphore returns a Semaphore with n places.
func NewSemaphore(n int) Semaphore { return make(Semaphore, n) }

// try takes a place if one is free.
func (s Semaphore) try() bool {
	if s == nil {
		return true
	}
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// Acquire takes a place. If none is free, it waits for one.
func (s Semaphore) Acquire(ctx context.Context) error {
	if s.try() {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release releases a place.
func (s Semaphore) Release() {
	if s != nil {
		<-s
	}
}

// A Queue limits the running and the waiting calls of one server.
type Queue struct {
	server  string
	limits  *config.Limits
	hits    *config.Hits
	waiting atomic.Int64
	running atomic.Int64
	places  Semaphore
	shares  shares
	cut     atomic.Bool // the gateway shuts down and has cancelled a call
}

// New returns the queue of a server. hits counts the limits that were reached.
func New(server string, limits *config.Limits, hits *config.Hits) *Queue {
	return &Queue{server: server, limits: limits, hits: hits, places: NewSemaphore(limits.InFlightPerServer), shares: newShares()}
}

// A Place is held by a running call.
type Place struct {
	queue *Queue
	share *share
}

// Enter takes a place to run a call, waiting in a bounded queue. Each key has
// only its share of the running and of the waiting calls. An empty principal has
// no share limit.
func (q *Queue) Enter(ctx context.Context, principal string) (Place, error) {
	sh := q.shares.of(principal, q.limits)
	if err := q.take(ctx, sh); err != nil {
		q.shares.drop(sh)
		return Place{}, err
	}
	q.running.Add(1)
	return Place{q, sh}, nil
}

func (q *Queue) take(ctx context.Context, sh *share) error {
	if !sh.places.try() {
		q.hits.Add("inFlightPerKey")
		return q.wait(ctx, sh)
	}
	if q.places.try() {
		return nil
	}
	sh.places.Release()
	q.hits.Add("inFlightPerServer")
	return q.wait(ctx, sh)
}

func (q *Queue) wait(ctx context.Context, sh *share) error {
	defer sh.waiting.Add(-1)
	if sh.waiting.Add(1) > int64(sh.queue) {
		q.hits.Add("queuedPerKey")
		return mcp.Failure(mcp.Overloaded, q.server, fmt.Sprintf(
			"this key has %d calls running on server %q and %d waiting, which is its share; limits.inFlightPerKey and limits.queuedPerKey set another",
			cap(sh.places), q.server, sh.queue))
	}
	defer q.waiting.Add(-1)
	if q.waiting.Add(1) > int64(q.limits.QueuedPerServer) {
		q.hits.Add("queuedPerServer")
		return mcp.Failure(mcp.Overloaded, q.server,
			fmt.Sprintf("server %q has %d calls running and %d waiting", q.server, q.limits.InFlightPerServer, q.limits.QueuedPerServer))
	}
	if err := sh.places.Acquire(ctx); err != nil {
		return err
	}
	if err := q.places.Acquire(ctx); err != nil {
		sh.places.Release()
		return err
	}
	if q.cut.Load() { // this call is about to be cancelled too
		sh.places.Release()
		q.places.Release()
		return mcp.CutShort
	}
	return nil
}

// Leave releases the place. If ctx, the context of the call, was cancelled
// because the gateway shuts down, no waiting call takes the place.
func (p Place) Leave(ctx context.Context) {
	if errors.Is(context.Cause(ctx), mcp.CutShort) {
		p.queue.cut.Store(true)
	}
	p.share.places.Release()
	p.queue.shares.drop(p.share)
	p.queue.running.Add(-1)
	p.queue.places.Release()
}

// Running returns the number of running calls.
func (q *Queue) Running() int64 { return q.running.Load() }

// Waiting returns the number of waiting calls.
func (q *Queue) Waiting() int64 { return q.waiting.Load() }

// idleCheck is how often Idle checks.
const idleCheck = 20 * time.Millisecond

// Idle waits until no call is running, bounded by ctx.
func (q *Queue) Idle(ctx context.Context) {
	t := time.NewTicker(idleCheck)
	defer t.Stop()
	for q.running.Load() > 0 {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
