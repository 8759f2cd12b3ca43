package queue

import (
	"math"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
)

// A share limits the running and the waiting calls of one key on a server.
type share struct {
	principal string
	places    Semaphore
	queue     int
	waiting   atomic.Int64
	calls     int // running and waiting calls; guarded by shares.mu
}

// shares holds the shares of a server by key.
type shares struct {
	mu sync.Mutex
	by map[string]*share
	// all is the unlimited share of the local user, who needs no key.
	all share
}

// of returns the share of a principal for one more call. The caller must call
// drop afterwards.
func (s *shares) of(principal string, l *config.Limits) *share {
	if !access.Shares(principal) {
		return &s.all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.by[principal]
	if sh == nil {
		sh = &share{
			principal: principal,
			places:    NewSemaphore(config.Share(l.InFlightPerKey, l.InFlightPerServer)),
			queue:     config.Share(l.QueuedPerKey, l.QueuedPerServer),
		}
		s.by[principal] = sh
	}
	sh.calls++
	return sh
}

func (s *shares) drop(sh *share) {
	if sh == &s.all {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.calls--; sh.calls == 0 {
		delete(s.by, sh.principal)
	}
}

func newShares() shares {
	return shares{by: make(map[string]*share), all: share{queue: math.MaxInt}}
}
