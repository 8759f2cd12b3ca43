package upstream

import (
	"context"
	"fmt"
	"maps"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/inflight"
)

const (
	// maxPools bounds the connections that are shared by offer, for each user
	// where those have their own: a client can offer what it likes.
	maxPools = 16
	poolIdle = 5 * time.Minute
)

// pooled returns the connection that c shares with others, and what to do when
// the call is over.
func (u *Upstream) pooled(ctx context.Context, c *Caller, b binding) (*link, func(), error) {
	u.mu.Lock()
	s := u.slots[b.key]
	var old *slot
	if s == nil {
		s = &slot{up: u, user: u.userOf(c), exact: b.exact, pooled: true, project: b.project, guests: make(map[*Caller]bool)}
		if b.project != nil {
			s.holder = c.Principal
		}
		var full bool
		if old, full = u.crowdedLocked(s); full && b.project != nil {
			u.mu.Unlock()
			return nil, nil, mcp.Failure(mcp.Overloaded, u.Name(), fmt.Sprintf("sessions on too many projects are open: at most %d of one principal", maxPools))
		}
		if u.opt.Greeting != nil {
			s.exclusive = true
			s.session.Store(u.opt.Greeting.caller)
		}
		u.slots[b.key] = s
		time.AfterFunc(poolIdle, func() { u.reap(b.key, s) })
	}
	s.users.Add(1)
	if b.project != nil && c.Session != "" {
		s.guests[c] = true
	}
	u.mu.Unlock()
	if old != nil {
		u.background.Go(func() { old.close(u.life) })
	}
	release := func() {
		s.used.Store(inflight.Ticks())
		s.users.Add(-1)
	}
	l := s.current()
	if l == nil {
		sp := u.baseSpec()
		if b.exact || !b.together {
			// It stands for many clients, so it says nothing of one but the offer.
			sp.hello.Offer = c.Offer
			if s.user == "" {
				sp.era, sp.probe = mcp.Legacy, false
			}
		} // otherwise it is to one user what the primary one is to all
		var err error
		if l, err = s.get(ctx, sp); err != nil {
			release()
			return nil, nil, u.report.Unavailable(ctx, err)
		}
	}
	return l, release, nil
}

// crowdedLocked removes the pool that was used least recently where there are too
// many like s, and returns it; full says that all of them are in use.
func (u *Upstream) crowdedLocked(like *slot) (unused *slot, full bool) {
	count, key := 0, ""
	var oldest *slot
	for k, s := range u.slots {
		if !s.pooled || s.user != like.user || s.holder != like.holder {
			continue
		}
		count++
		if s.unusedLocked(k) && (oldest == nil || s.used.Load() < oldest.used.Load()) {
			oldest, key = s, k
		}
	}
	if count < maxPools || oldest == nil {
		return nil, count >= maxPools
	}
	delete(u.slots, key)
	return oldest, false
}

// unusedLocked says that nobody calls, or waits for news, on a shared connection,
// and that no session is left whose project it is for.
func (s *slot) unusedLocked(key string) bool {
	maps.DeleteFunc(s.guests, func(c *Caller, _ bool) bool { return !c.uses(s.up, key) })
	return s.users.Load() == 0 && len(s.guests)+len(s.subs.IDs())+len(s.tasks.IDs()) == 0
}

// reap closes a shared connection that nobody has used for a while.
func (u *Upstream) reap(key string, s *slot) {
	u.mu.Lock()
	if u.slots[key] != s || u.life.Err() != nil {
		u.mu.Unlock()
		return
	}
	left := poolIdle - time.Duration(inflight.Ticks()-s.used.Load())
	if !s.unusedLocked(key) || left > 0 {
		u.mu.Unlock()
		time.AfterFunc(max(left, poolIdle/10), func() { u.reap(key, s) })
		return
	}
	delete(u.slots, key)
	u.background.Go(func() { s.close(u.life) })
	u.mu.Unlock()
}

// lease gives c a connection that no other call uses meanwhile: over a pipe
// nothing but exclusivity tells whose call a question belongs to, and roots
// are never told on a connection that others use.
func (u *Upstream) lease(ctx context.Context, c *Caller, b binding) (*link, func(), error) {
	u.mu.Lock()
	free := u.leases[b.pool]
	var s *slot
	if n := len(free); n > 0 {
		s, u.leases[b.pool] = free[n-1], free[:n-1]
	}
	u.mu.Unlock()
	if s == nil {
		s = &slot{up: u, exclusive: true, user: u.userOf(c)}
	}
	give := func() { u.giveBack(b.pool, s) }
	l, err := s.get(ctx, u.specFor(c, mcp.Legacy))
	if err != nil {
		give()
		return nil, nil, u.report.Unavailable(ctx, err)
	}
	return l, give, nil
}

const (
	maxFreeLeases = 4
	leaseIdle     = 5 * time.Minute
)

// giveBack keeps a leased connection for the next call, a few of them, for a
// while.
func (u *Upstream) giveBack(pool string, s *slot) {
	u.mu.Lock()
	keep := len(u.leases[pool]) < maxFreeLeases && u.life.Err() == nil
	if keep {
		u.leases[pool] = append(u.leases[pool], s)
		time.AfterFunc(leaseIdle, func() { u.expire(pool, s) })
	}
	u.mu.Unlock()
	if !keep {
		u.background.Go(func() { s.close(u.life) })
	}
}

func (u *Upstream) expire(pool string, s *slot) {
	u.mu.Lock()
	found := false
	for i, free := range u.leases[pool] {
		if free == s {
			u.leases[pool] = append(u.leases[pool][:i:i], u.leases[pool][i+1:]...)
			found = true
			break
		}
	}
	u.mu.Unlock()
	if found {
		s.close(u.life)
	}
}
