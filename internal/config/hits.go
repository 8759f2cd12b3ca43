package config

import (
	"slices"
	"sync"
)

// counted are the limits, by their keys, whose reaching is counted. The others
// only pace (keepAlive), or are enforced by net/http, which tells nobody
// (headerBytes, readHeader).
var counted = []string{
	"batch", "bodyIdle", "callIdle", "callTotal", "callsPerMinute", "clientMessage", "depth", "drain", "handshake", "idBytes",
	"inFlightPerKey", "inFlightPerServer", "inFlightPerSession", "memory", "outboundBytes", "outboundMessages",
	"queuedPerKey", "queuedPerServer", "sameCall", "serverMessage", "sessionIdle", "sessions", "sessionsPerKey", "unfinishedPerKey", "writeIdle",
}

// Hits count how often each limit was reached. A nil Hits counts nothing.
type Hits struct {
	mu sync.Mutex
	n  map[string]int64
}

// Add counts that a limit, named by its key, was reached.
func (h *Hits) Add(limit string) { h.AddN(limit, 1) }

// AddN counts n times.
func (h *Hits) AddN(limit string, n int) {
	if h == nil || n == 0 {
		return
	}
	if !slices.Contains(counted, limit) {
		panic("config: no limit is called " + limit)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n == nil {
		h.n = make(map[string]int64)
	}
	h.n[limit] += int64(n)
}

// A Hit is how often one limit was reached.
type Hit struct {
	Limit string
	Count int64
}

// List returns all limits that are counted, by name.
func (h *Hits) List() []Hit {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Hit, len(counted))
	for i, limit := range counted {
		list[i] = Hit{limit, h.n[limit]}
	}
	return list
}
