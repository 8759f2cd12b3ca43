package gateway

import (
	"sync"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// maxTranslated bounds the pairs of versions that are remembered; a server may
// claim any version.
const maxTranslated = 256

// translated remembers what is said about calls between two versions, which is
// the same for all of them.
type translated struct {
	mu    sync.Mutex
	notes map[versions][]string
}

// versions are the protocol versions of a client and of a server.
type versions struct {
	client, server string
	era            mcp.Era
}

// of says what had to be translated between a client and a server.
func (t *translated) of(p party, u *upstream.Upstream) []string {
	v := versions{p.caller.Version, u.Protocol(), p.caller.Era}
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
