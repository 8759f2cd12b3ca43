package kept

import (
	"strings"
	"sync"
)

// A clientLimit is how much of one result a known client shows to its model.
type clientLimit struct {
	match, title string // match is contained in the client's name, in lower case
	shows        int
	advice       string // a limit below shows
}

// clientLimits are the known clients. The source of each number is in
// docs/compact.md under "What clients do with large results".
var clientLimits = []clientLimit{
	{"claude-code", "Claude Code", 50_000, "32KB"},
	{"codex", "Codex", LeastShown, "8KB"},
	{"copilot", "Copilot CLI", 30 << 10, "24KB"},
	{"opencode", "opencode", 50 << 10, "32KB"},
	{"hermes", "Hermes", 50_000, "32KB"},
}

// LeastShown is the smallest limit of these clients.
const LeastShown = 10 << 10

// Large is how many results exceeded what a client shows, and the limit that
// would show them in part.
type Large struct {
	Client string `json:"client"`
	Count  int64  `json:"count"`
	Shows  int    `json:"shows"`
	Limit  string `json:"limit"`
}

// LargeCounts counts such results. The zero value is ready to use.
type LargeCounts struct {
	mu sync.Mutex
	by map[string]int64
}

// Note counts a result if it is too large for the client with the given name.
func (c *LargeCounts) Note(size int, name string) {
	client := strings.ToLower(name)
	for _, l := range clientLimits {
		if !strings.Contains(client, l.match) {
			continue
		}
		if size > l.shows {
			c.mu.Lock()
			if c.by == nil {
				c.by = make(map[string]int64)
			}
			c.by[l.title]++
			c.mu.Unlock()
		}
		return
	}
}

// List returns the counts; never nil.
func (c *LargeCounts) List() []Large {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []Large{}
	for _, l := range clientLimits {
		if n := c.by[l.title]; n > 0 {
			all = append(all, Large{l.title, n, l.shows, l.advice})
		}
	}
	return all
}
