package config

import (
	"slices"
	"sync"
)

// counted are the keys of the limits whose hits are counted. The others only
// pace (keepAlive), or are enforced by net/http, which does not report hits
// (headerBytes, readHeader).
var counted = []string{
	"batch", "bodyIdle", "callIdle", "callTotal", "callsPerMinute", "clientMessage", "depth", "drain", "handshake", "idBytes",
	"inFlightPerKey", "inFlightPerServer", "inFlightPerSession", "memory", "outboundBytes", "outboundMessages",
	"queuedPerKey", "queuedPerServer", "sameCall", "serverMessage", "sessionIdle", "sessions", "sessionsPerKey", "unfinishedPerKey", "writeIdle",
}

// Hits counts how often each limit was reached. A nil *Hits counts nothing.
type Hits struct {
	mu sync.Mutex
	n  map[string]int64
}

// Add counts one hit of the limit with that key.
func (h *Hits) Add(limit string) { h.AddN(limit, 1) }

// AddN counts n hits.
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

// A Hit is the number of hits of one limit.
type Hit struct {
	Limit string
	Count int64
}

// List returns all counted limits, sorted by name.
func (h *Hits) List() []Hit {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Hit, len(counted))
	for i, limit := range counted {
		list[i] = Hit{limit, h.n[limit]}
	}
	return list
}
