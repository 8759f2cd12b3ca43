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
	ids := make([]string, 0, len(s.byID))
	for id, t := range s.byID {
		t.told, t.doubt = named && len(t.who) > 0, false
		ids = append(ids, id)
	}
	return func(ctx context.Context, ask Ask) {
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
}

// maxRefused is how many topics a server may refuse in one round. It bounds how often a
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
	all.SetLimit(maxWorkers)
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
// again. It waits for the end of requests on the last connection.
func (s *Subscriptions) renew(ctx context.Context, id string, ask Ask) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx.Err() == nil {
		t := s.byID[id]
		switch {
		case t == nil || t.told:
			return true
		case t.asking != nil:
			r := t.asking
			s.mu.Unlock()
			select {
			case <-r.done:
			case <-ctx.Done():
			}
			s.mu.Lock()
			continue
		case len(t.who) == 0:
			s.settle(id, t, ask)
			return true
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
