package upstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/inflight"
)

const (
	// maxPools limits the connections that are shared by offer, because clients choose
	// their offers. The limit applies per user if users have their own connections.
	maxPools = 16
	poolIdle = 5 * time.Minute
)

// slots holds the slots of a server, except the primary one.
type slots struct {
	mu     sync.Mutex
	byKey  map[string]*slot
	leases map[string][]*slot // unused leased slots by pool
}

func (r *slots) get(key string) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key]
}

// getOr returns the slot with the given key. If there is none, it adds the result of fresh.
func (r *slots) getOr(key string, fresh func() *slot) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byKey[key]
	if s == nil {
		s = fresh()
		r.byKey[key] = s
	}
	return s
}

func (r *slots) remove(key string) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byKey[key]
	delete(r.byKey, key)
	return s
}

// all returns all slots, including unused leased ones.
func (r *slots) all() []*slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Collect(maps.Values(r.byKey))
	for _, free := range r.leases {
		list = append(list, free...)
	}
	return list
}

// InProjects returns c as a client of each project for which its principal currently uses
// the server. It returns c alone if there is none, or if the project of c is known or does
// not matter.
func InProjects(ctx context.Context, u *Upstream, c *Caller) (list []*Caller) {
	if c.Offer.Roots && c.Project() == nil && ByProject(ctx, u, c) {
		for _, s := range u.slots.all() {
			if s.project != nil && s.holder == c.Principal && s.current() != nil {
				one := c.WithoutSession()
				one.Move(s.project)
				list = append(list, one)
			}
		}
	}
	if list == nil {
		list = append(list, c)
	}
	return list
}

// connected returns how many slots have a connection, not counting leased ones.
func (r *slots) connected() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byKey {
		if s.current() != nil {
			n++
		}
	}
	return n
}

// join returns the slot that c shares with other clients. If there is none, it adds the one
// that fresh returns. It returns nil if the principal has too many projects.
func (r *slots) join(b binding, c *Caller, fresh func() *slot) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byKey[b.key]
	if s == nil {
		s = fresh()
		old, full := r.crowdedLocked(s)
		if full && b.project != nil {
			return nil
		}
		if old != nil {
			old.end()
		}
		r.byKey[b.key] = s
		time.AfterFunc(poolIdle, func() { r.reap(b.key, s) })
	}
	s.users.Add(1)
	if b.project != nil && c.Session != "" {
		s.guests[c] = true
	}
	return s
}

// crowdedLocked checks whether there are too many pools like the given one. If so, it
// removes and returns the least recently used pool that is not in use; full says that all
// of them are in use.
func (r *slots) crowdedLocked(like *slot) (unused *slot, full bool) {
	count, key := 0, ""
	var oldest *slot
	for k, s := range r.byKey {
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
	delete(r.byKey, key)
	return oldest, false
}

// unusedLocked reports whether a shared connection has no calls, no subscriptions, no
// watched tasks, and no session that works on its project.
func (s *slot) unusedLocked(key string) bool {
	maps.DeleteFunc(s.guests, func(c *Caller, _ bool) bool { return !c.uses(s.up, key) })
	return s.users.Load() == 0 && len(s.guests)+len(s.subs.IDs())+len(s.tasks.IDs()) == 0
}

// reap closes a shared connection that was not used for poolIdle.
func (r *slots) reap(key string, s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[key] != s || s.up.life.Err() != nil {
		return
	}
	left := poolIdle - time.Duration(inflight.Ticks()-s.used.Load())
	if !s.unusedLocked(key) || left > 0 {
		time.AfterFunc(max(left, poolIdle/10), func() { r.reap(key, s) })
		return
	}
	delete(r.byKey, key)
	s.end()
}

const (
	maxFreeLeases = 4
	leaseIdle     = 5 * time.Minute
)

// take returns an unused leased slot, or nil.
func (r *slots) take(pool string) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	for free := r.leases[pool]; len(free) > 0; {
		s := free[len(free)-1]
		free = free[:len(free)-1]
		r.leases[pool] = free
		if s.clean() {
			return s
		}
		s.end()
	}
	return nil
}

// giveBack keeps a leased connection for the next call, up to maxFreeLeases and leaseIdle,
// unless it was told roots, or the server may still ask because of the last call.
func (r *slots) giveBack(pool string, s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.leases[pool]) >= maxFreeLeases || s.up.life.Err() != nil || !s.clean() {
		s.end()
		return
	}
	r.leases[pool] = append(r.leases[pool], s)
	time.AfterFunc(leaseIdle, func() { r.expire(pool, s) })
}

func (r *slots) expire(pool string, s *slot) {
	r.mu.Lock()
	i := slices.Index(r.leases[pool], s)
	if i >= 0 {
		r.leases[pool] = slices.Delete(slices.Clone(r.leases[pool]), i, i+1)
	}
	r.mu.Unlock()
	if i >= 0 {
		s.close(s.up.life)
	}
}

// pooled returns the connection that c shares with other clients, and a function to call
// after the call has ended.
func (u *connections) pooled(ctx context.Context, c *Caller, b binding) (*link, func(), error) {
	s := u.slots.join(b, c, func() *slot {
		s := &slot{up: u, user: u.userOf(c), exact: b.exact, pooled: true, project: b.project, guests: make(map[*Caller]bool)}
		if b.project != nil {
			s.holder = c.Principal
		}
		if u.opt.Greeting != nil {
			s.exclusive = true
			s.session.Store(u.opt.Greeting.caller)
		}
		return s
	})
	if s == nil {
		return nil, nil, mcp.Failure(mcp.Overloaded, u.Name(), fmt.Sprintf("sessions on too many projects are open: at most %d of one principal", maxPools))
	}
	release := func() {
		s.used.Store(inflight.Ticks())
		s.users.Add(-1)
	}
	l := s.current()
	if l == nil {
		sp := u.baseSpec()
		if b.exact || !b.together {
			// The connection stands for many clients, so it tells the server nothing about
			// a single client except the offer.
			sp.hello.Offer = c.Offer
			if s.user == "" {
				sp.era, sp.probe = mcp.Legacy, false
			}
		} // otherwise it is for one user what the primary one is for all
		var err error
		if l, err = s.get(ctx, sp); err != nil {
			release()
			return nil, nil, u.report.Unavailable(ctx, err)
		}
	}
	return l, release, nil
}

// lease gives c a connection that no other call uses at the same time. Over a pipe only
// exclusive use tells which call a question belongs to, and roots are never sent on a
// connection that other clients use.
func (u *connections) lease(ctx context.Context, c *Caller, b binding) (*link, func(), error) {
	s := u.slots.take(b.pool)
	if s == nil {
		s = &slot{up: u, exclusive: true, user: u.userOf(c), project: b.project}
	}
	give := func() { u.slots.giveBack(b.pool, s) }
	l, err := s.get(ctx, u.specFor(c, mcp.Legacy))
	if err != nil {
		give()
		return nil, nil, u.report.Unavailable(ctx, err)
	}
	return l, give, nil
}
