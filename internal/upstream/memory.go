package upstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
)

// Memory is what was learnt about servers, by the hash of their configuration:
// which eras they speak, whether they ask, and how. It is kept in a file where one is
// named, so that a restart does not learn it anew.
type Memory struct {
	path string
	mu   sync.Mutex
	seen map[string]trait
}

type trait struct {
	Eras eras `json:"eras,omitempty"`
	Asks bool `json:"asks,omitempty"`
	// OldWay says that its tools ask in the legacy era alone.
	OldWay bool `json:"oldWay,omitempty"`
}

// OpenMemory reads the file; a missing or broken one is an empty memory. An
// empty path keeps nothing.
func OpenMemory(path string) *Memory {
	m := &Memory{path: path, seen: make(map[string]trait)}
	if path == "" {
		return m
	}
	if raw, err := os.ReadFile(path); err == nil {
		var seen map[string]trait
		if json.Unmarshal(raw, &seen) == nil && seen != nil {
			m.seen = seen
		}
	}
	return m
}

func (m *Memory) eras(hash string) eras {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Eras
}

func (m *Memory) asks(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Asks
}

func (m *Memory) oldWay(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].OldWay
}

// setOldWay says whether that was news.
func (m *Memory) setOldWay(hash string, old bool) bool {
	return m.update(hash, func(t *trait) { t.OldWay = old })
}

func (m *Memory) setEras(hash string, e eras) {
	m.update(hash, func(t *trait) { t.Eras = e })
}

// setAsks says whether that was news.
func (m *Memory) setAsks(hash string) bool {
	return m.update(hash, func(t *trait) { t.Asks = true })
}

func (m *Memory) update(hash string, change func(*trait)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.seen[hash]
	old := t
	change(&t)
	if t == old {
		return false
	}
	m.seen[hash] = t
	m.saveLocked()
	return true
}

// saveLocked writes the file. It is a convenience: a disk that refuses costs
// nothing but another probe after the next start.
func (m *Memory) saveLocked() {
	if m.path == "" {
		return
	}
	raw, err := json.Marshal(m.seen)
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(m.path), 0o700) != nil {
		return
	}
	tmp := m.path + ".tmp"
	if os.WriteFile(tmp, raw, 0o600) == nil {
		os.Rename(tmp, m.path)
	}
}
