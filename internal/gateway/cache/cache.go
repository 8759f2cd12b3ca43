// Package cache keeps tool results for a limited time, for the principal that
// got them.
package cache

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// Limits of the cache. The least recently used results are dropped first.
const (
	maxResult = 1 << 20
	maxAll    = 32 << 20
)

// A Key identifies a call. Calls with equal keys may share a result.
type Key [sha256.Size]byte

// KeyOf returns the key for a call that these texts identify.
func KeyOf(parts ...string) Key {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p)) // keeps the boundaries between the parts
		h.Write(sum[:])
	}
	return Key(h.Sum(nil))
}

// A Store keeps results. Its methods may be called concurrently. The zero value
// is an empty store.
type Store struct {
	mu    sync.Mutex
	byKey map[Key]*list.Element
	order list.List // results, most recently used first
	size  int
}

type result struct {
	key   Key
	data  []byte
	from  map[string]Key
	until time.Time
}

// Get returns a result that has not expired, and the servers that it came from. The
// caller must not change it.
func (s *Store) Get(key Key) (data []byte, from map[string]Key, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byKey[key]
	if e == nil {
		return nil, nil, false
	}
	r := e.Value.(*result)
	if time.Now().After(r.until) {
		s.remove(e)
		return nil, nil, false
	}
	s.order.MoveToFront(e)
	return r.data, r.from, true
}

// Put keeps a copy of a result for a time, unless it is too large.
func (s *Store) Put(key Key, data []byte, from map[string]Key, life time.Duration) {
	if len(data) > maxResult {
		return
	}
	r := &result{key, append([]byte(nil), data...), from, time.Now().Add(life)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[key]; e != nil {
		s.remove(e)
	}
	if s.byKey == nil {
		s.byKey = make(map[Key]*list.Element)
	}
	s.byKey[key] = s.order.PushFront(r)
	for s.size += cost(r); s.size > maxAll; {
		s.remove(s.order.Back())
	}
}

// Clear removes all results.
func (s *Store) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byKey, s.size = nil, 0
	s.order.Init()
}

func (s *Store) remove(e *list.Element) {
	r := s.order.Remove(e).(*result)
	delete(s.byKey, r.key)
	s.size -= cost(r)
}

// cost is the memory of a result, with its overhead.
func cost(r *result) int { return len(r.data) + 256 }
