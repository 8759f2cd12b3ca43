package entry

import (
	"sync"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
)

// maxTranslated is how many pairs of versions are cached; a server may claim any
// version.
const maxTranslated = 256

// Translated caches the notes about calls between two versions, which are the
// same for all calls. The zero value is empty.
type Translated struct {
	mu    sync.Mutex
	notes map[versions][]string
}

// versions are the protocol versions of a client and of a server.
type versions struct {
	client, server string
	era            mcp.Era
}

// Of returns notes on what is translated between a client of an era and a
// server.
func (t *Translated) Of(client, server string, era mcp.Era) []string {
	v := versions{client, server, era}
	if v.server == "" || v.server == v.client {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	notes := t.notes[v]
	if notes == nil {
		notes = []string{v.note()}
		if len(t.notes) >= maxTranslated || t.notes == nil {
			t.notes = make(map[versions][]string)
		}
		t.notes[v] = notes
	}
	return notes
}

func (v versions) note() string {
	if mcp.Rules(v.server).Era != v.era {
		return traffic.Bridged(v.client, v.server)
	}
	return traffic.Spoken(v.client, v.server)
}
