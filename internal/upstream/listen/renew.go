package listen

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/backoff"
)

// Renew forgets what the server was told on the last connection. It returns a function
// that tells the new connection of all topics that have subscribers, and returns when the
// server watches them or ctx has ended. named says that the new connection begins with
// a request that names them.
func (s *Subscriptions) Renew(named bool) (tell func(context.Context, Ask)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	lines := make(map[string][]string) // each principal has all topics that it waits for
	for id, t := range s.byID {
		t.told, t.doubt = named && len(t.who) > 0, false
		for principal := range t.principals() {
			lines[principal] = append(lines[principal], id)
		}
	}
	return func(ctx context.Context, ask Ask) {
		var all errgroup.Group
		for _, ids := range lines {
			all.Go(func() error {
				s.renewAll(ctx, ids, ask)
				return nil
			})
		}
		all.Wait()
	}
}

// principals returns whose the subscribers of a topic are, or were. The caller holds the
// mutex.
func (t *topic) principals() map[string]bool {
	if len(t.who) == 0 {
		return map[string]bool{t.last: true}
	}
	set := make(map[string]bool)
	for _, one := range t.who {
		set[one.principal] = true
	}
	return set
}

// renewAll tells a new connection of the topics of a principal, as often as it takes.
func (s *Subscriptions) renewAll(ctx context.Context, ids []string, ask Ask) {
	for tries := 0; ; tries++ {
		left := s.round(ctx, ids, ask)
		if len(left) == 0 {
			return
		}
		if len(left) < len(ids) {
			tries = 0
		}
		if backoff.Wait(ctx, backoff.Spread(min(backoff.Cap, backoff.Base<<min(tries, 16)))) != nil {
			return
		}
		ids = left
	}
}

// maxRefused is how many topics of a principal a server may refuse in one round. It bounds how often a
// server that refuses them all is asked.
const maxRefused = 16

// round tells a new connection of topics. It returns those that are left for the next
// round, the refused ones last.
func (s *Subscriptions) round(ctx context.Context, ids []string, ask Ask) (left []string) {
	var mu sync.Mutex
	var refused []string
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(refused) >= maxRefused
	}
	var all errgroup.Group
	all.SetLimit(maxShare)
	for i, id := range ids {
		if full() {
			left = append(left, ids[i:]...)
			break
		}
		all.Go(func() error {
			if !s.renew(ctx, id, ask) {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, id)
			}
			return nil
		})
	}
	all.Wait()
	return append(left, refused...)
}

// renew tells a new connection of one topic, and reports whether it need not be told
// again. It waits for the end of other requests, without a place: a client may wait long.
func (s *Subscriptions) renew(ctx context.Context, id string, ask Ask) (done bool) {
	var leave func() // its place
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if leave != nil {
			leave()
		}
	}()
	for ctx.Err() == nil {
		t := s.byID[id]
		switch {
		case t == nil || t.told:
			return true
		case t.asking != nil:
			r := t.asking
			if leave != nil {
				leave()
				leave = nil
			}
			s.mu.Unlock()
			select {
			case <-r.done:
			case <-ctx.Done():
				s.mu.Lock()
				return false
			}
			s.mu.Lock()
			if r.epoch == s.epoch && r.method == mcp.MethodSubscribe && r.failed() {
				return false // asked for another principal, or by a client
			}
			continue
		case len(t.who) == 0:
			s.settle(id, t, ask)
			return true
		case leave == nil:
			s.mu.Unlock()
			leave = s.place(ctx)
			s.mu.Lock()
			continue
		}
		r := s.request(mcp.MethodSubscribe)
		t.asking = r
		s.mu.Unlock()
		s.runShort(ctx, id, t, r, ask)
		s.mu.Lock()
		return t.told || len(t.who) == 0
	}
	return false
}
