package upstream

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/record"
)

// Memory is what was learnt about servers, by the hash of their configuration:
// which eras they speak, whether they ask, and how. It is kept in a file where one is
// named, so that a restart does not learn it anew.
type Memory struct {
	path string
	doc  record.Document // nil when nobody shares it
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
	m.Reread()
	return m
}

// OpenSharedMemory is a memory that replicas share, with a copy in the file;
// without a shelf it is OpenMemory.
func OpenSharedMemory(path string, shelf record.Shelf) *Memory {
	m := OpenMemory(path)
	if shelf != nil {
		m.doc = shelf.Document(record.Memory, MemoryFile(path))
	}
	return m
}

// MemoryFile is the file of a memory at a path.
func MemoryFile(path string) record.File { return record.File{Path: path} }

// Reread adds what others have learnt and written to the file.
func (m *Memory) Reread() {
	if m.path == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var seen map[string]trait
	if raw, err := os.ReadFile(m.path); err == nil && json.Unmarshal(raw, &seen) == nil {
		maps.Copy(m.seen, seen)
	}
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
	if m.doc == nil {
		m.saveLocked()
		return true
	}
	_ = m.doc.Later(hash, func(old []byte) ([]byte, error) { // as little matters as in saveLocked
		seen := map[string]trait{}
		if json.Unmarshal(old, &seen) != nil || seen == nil {
			seen = map[string]trait{}
		}
		seen[hash] = t
		return json.Marshal(seen)
	})
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
