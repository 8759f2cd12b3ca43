package upstream

import (
	"context"
	"fmt"
	"net/http"

	"mcp-all-in-one/internal/mcp"
)

// A semaphore is a number of places.
type semaphore chan struct{}

func newSemaphore(n int) semaphore { return make(semaphore, n) }

// try takes a place if one is free. A nil semaphore has places for everybody.
func (s semaphore) try() bool {
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

func (s semaphore) acquire(ctx context.Context) error {
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

func (s semaphore) release() {
	if s != nil {
		<-s
	}
}

// A place is held by a call that runs.
type place struct {
	up    *Upstream
	share *share
}

// enter takes a place among the calls that run on this server, waiting in a
// bounded queue. Of both a key has no more than its share.
func (u *Upstream) enter(ctx context.Context, c *Caller) (place, error) {
	who := c.Principal
	if c.Peer {
		who = "" // it had its share at the replica that asks
	}
	sh := u.shares.of(who, u.limits)
	if err := u.take(ctx, sh); err != nil {
		u.shares.drop(sh)
		return place{}, err
	}
	u.running.Add(1)
	return place{u, sh}, nil
}

func (u *Upstream) take(ctx context.Context, sh *share) error {
	if !sh.places.try() {
		u.opt.Hits.Add("inFlightPerKey")
		return u.wait(ctx, sh)
	}
	if u.places.try() {
		return nil
	}
	sh.places.release()
	u.opt.Hits.Add("inFlightPerServer")
	return u.wait(ctx, sh)
}

func (u *Upstream) wait(ctx context.Context, sh *share) error {
	defer sh.waiting.Add(-1)
	if sh.waiting.Add(1) > int64(sh.queue) {
		u.opt.Hits.Add("queuedPerKey")
		return mcp.Failure(mcp.Overloaded, u.name, fmt.Sprintf(
			"this key has %d calls running on server %q and %d waiting, which is its share; limits.inFlightPerKey and limits.queuedPerKey set another",
			cap(sh.places), u.name, sh.queue))
	}
	defer u.queued.Add(-1)
	if u.queued.Add(1) > int64(u.limits.QueuedPerServer) {
		u.opt.Hits.Add("queuedPerServer")
		return mcp.Failure(mcp.Overloaded, u.name,
			fmt.Sprintf("server %q has %d calls running and %d waiting", u.name, u.limits.InFlightPerServer, u.limits.QueuedPerServer))
	}
	if err := sh.places.acquire(ctx); err != nil {
		return err
	}
	if err := u.places.acquire(ctx); err != nil {
		sh.places.release()
		return err
	}
	return nil
}

func (p place) leave() {
	p.share.places.release()
	p.up.shares.drop(p.share)
	p.up.leave()
}

func (u *Upstream) leave() {
	u.running.Add(-1)
	u.places.release()
}

// refused reacts to a server that turned a request away: an unknown session is
// lost for good, the rest is worth a moment.
func (l *link) refused(ctx context.Context, err error) {
	switch statusOf(err) {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		l.pause(ctx, err)
	default:
		l.finish(err)
	}
}
