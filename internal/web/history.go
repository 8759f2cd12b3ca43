package web

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/tester/history"
)

// HistoryFile is the name of the owner's history in Options.StateDir. The
// tester on the command line writes the same file.
const HistoryFile = "runs.jsonl"

// histories holds the tester's histories, one per owner.
type histories struct {
	dir string

	mu      sync.Mutex
	byOwner map[string]*history.History
}

func openHistories(dir string) (*histories, error) {
	h := &histories{dir: dir, byOwner: map[string]*history.History{}}
	_, err := h.of(access.Owner.ID).List("", "", "", 0)
	return h, err
}

// of returns the history of an owner, which access.Principal.Owner names.
func (h *histories) of(owner string) *history.History {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byOwner[owner]
	if one == nil {
		one = history.OpenHistory(h.file(owner))
		h.byOwner[owner] = one
	}
	return one
}

func (h *histories) file(owner string) string {
	switch {
	case h.dir == "":
		return ""
	case owner == access.Owner.ID:
		return filepath.Join(h.dir, HistoryFile)
	}
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(h.dir, fmt.Sprintf("runs-%x.jsonl", sum[:12]))
}
