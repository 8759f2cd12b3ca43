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

func (s semaphore) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) release() { <-s }

// enter takes a place among the calls that run on this server, waiting in a
// bounded queue.
func (u *Upstream) enter(ctx context.Context) error {
	select {
	case u.places <- struct{}{}:
		u.running.Add(1)
		return nil
	default:
	}
	u.opt.Hits.Add("inFlightPerServer")
	if u.queued.Add(1) > int64(u.limits.QueuedPerServer) {
		u.queued.Add(-1)
		u.opt.Hits.Add("queuedPerServer")
		return mcp.Failure(mcp.Overloaded, u.name,
			fmt.Sprintf("server %q has %d calls running and %d waiting", u.name, u.limits.InFlightPerServer, u.limits.QueuedPerServer))
	}
	defer u.queued.Add(-1)
	if err := u.places.acquire(ctx); err != nil {
		return err
	}
	u.running.Add(1)
	return nil
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
