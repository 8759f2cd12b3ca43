// Package memory remembers properties of servers, so that the gateway does not
// have to find them out again after a restart.
package memory

import (
	"encoding/json"
	"maps"
	"os"
	"sync"

	"mcp-all-in-one/internal/record"
)

// Eras says which eras a server is known to speak.
type Eras string

// The values of Eras.
const (
	Unknown Eras = ""
	Legacy  Eras = "legacy"
	Modern  Eras = "modern"
	Both    Eras = "both"
)

// Memory holds the properties of servers by the hash of their configuration:
// which eras they speak, whether they ask questions, and how. It is saved to a
// file if it has a path.
type Memory struct {
	path string
	doc  record.Document // nil without a path
	mu   sync.Mutex
	seen map[string]trait
}

type trait struct {
	Eras Eras `json:"eras,omitempty"`
	Asks bool `json:"asks,omitempty"`
	// Roots says that it asks for roots outside any call.
	Roots bool `json:"roots,omitempty"`
	// OldWay says that its tools can ask only in the legacy era.
	OldWay bool `json:"oldWay,omitempty"`
}

// Open reads the file. A missing or broken file counts as empty. With an empty
// path nothing is saved.
func Open(path string) *Memory {
	m := &Memory{path: path, seen: make(map[string]trait)}
	if path != "" {
		m.doc = File(path)
	}
	m.Reread()
	return m
}

// OpenShared returns a memory that replicas share, with a copy in the file. If
// docs is nil, it is the same as Open.
func OpenShared(path string, docs record.Documents) *Memory {
	m := Open(path)
	if docs != nil {
		m.doc = docs.Document(record.Memory, File(path))
	}
	return m
}

// File returns the file of a memory at a path.
func File(path string) record.File { return record.File{Path: path} }

// Reread adds what other processes have written to the file.
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

// Eras returns the eras that the server is known to speak.
func (m *Memory) Eras(hash string) Eras {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Eras
}

// Asks reports whether the server is known to ask questions.
func (m *Memory) Asks(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Asks
}

// Roots reports whether the server is known to ask for roots outside any call, and
// so to keep them.
func (m *Memory) Roots(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].Roots
}

// SetRoots remembers that the server asks for roots outside any call.
func (m *Memory) SetRoots(hash string) {
	m.update(hash, func(t *trait) { t.Roots = true })
}

// OldWay reports whether the server's tools can ask only in the legacy era.
func (m *Memory) OldWay(hash string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[hash].OldWay
}

// SetOldWay remembers whether the server's tools can ask only in the legacy era.
// It reports whether the value changed.
func (m *Memory) SetOldWay(hash string, old bool) bool {
	return m.update(hash, func(t *trait) { t.OldWay = old })
}

// SetEras remembers the eras that the server speaks.
func (m *Memory) SetEras(hash string, e Eras) {
	m.update(hash, func(t *trait) { t.Eras = e })
}

// SetAsks remembers that the server asks questions. It reports whether the value
// changed.
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
		return true
	}
	// Errors are ignored: they only cost another probe after the next start.
	_ = m.doc.Later(hash, func(old []byte) ([]byte, error) {
		seen := map[string]trait{}
		if json.Unmarshal(old, &seen) != nil || seen == nil {
			seen = map[string]trait{}
		}
		seen[hash] = t
		return json.Marshal(seen)
	})
	return true
}
