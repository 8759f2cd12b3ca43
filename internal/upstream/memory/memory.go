// Package memory remembers what was learnt about servers, so that a restart does
// not learn it anew.
package memory

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/record"
)

// Eras is what is known of the eras that a server speaks.
type Eras string

// What is known of the eras of a server.
const (
	Unknown Eras = ""
	Legacy  Eras = "legacy"
	Modern  Eras = "modern"
	Both    Eras = "both"
)

// Memory is what was learnt about servers, by the hash of their configuration:
// which eras they speak, whether they ask, and how. It is kept in a file where one is
// named.
type Memory struct {
	path string
	doc  record.Document // nil when nobody shares it
	mu   sync.Mutex
	seen map[string]trait
}

type trait struct {
	Eras Eras `json:"eras,omitempty"`
	Asks bool `json:"asks,omitempty"`
	// OldWay says that its tools ask in the legacy era alone.
	OldWay bool `json:"oldWay,omitempty"`
}

// Open reads the file; a missing or broken one is an empty memory. An
// empty path keeps nothing.
func Open(path string) *Memory {
	m := &Memory{path: path, seen: make(map[string]trait)}
	m.Reread()
	return m
}

// OpenShared is a memory that replicas share, with a copy in the file;
// without a shelf it is Open.
func OpenShared(path string, shelf record.Shelf) *Memory {
	m := Open(path)
	if shelf != nil {
		m.doc = shelf.Document(record.Memory, File(path))
	}
	return m
}

// File is the file of a memory at a path.
func File(path string) record.File { return record.File{Path: path} }

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

// Eras are the eras that the server is known to speak.
func (m *Memory) Eras(hash string) Eras {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Eras
}

// Asks says whether the server is known to ask its clients.
func (m *Memory) Asks(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Asks
}

// OldWay says whether its tools ask in the legacy era alone.
func (m *Memory) OldWay(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].OldWay
}

// SetOldWay remembers how its tools ask. It says whether that was news.
func (m *Memory) SetOldWay(hash string, old bool) bool {
	return m.update(hash, func(t *trait) { t.OldWay = old })
}

// SetEras remembers the eras that the server speaks.
func (m *Memory) SetEras(hash string, e Eras) {
	m.update(hash, func(t *trait) { t.Eras = e })
}

// SetAsks remembers that the server asks its clients. It says whether that was
// news.
func (m *Memory) SetAsks(hash string) bool {
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
