package kept

import (
	"strings"
	"sync"
)

// A clientLimit is how much of one result a known client shows to its model.
type clientLimit struct {
	match, title string // the first is in the name that the client gives, lower case
	shows        int
	advice       string // a limit below it
}

// clientLimits is what is known of clients. Where each figure comes from is in
// docs/compact.md under "What clients do with large results".
var clientLimits = []clientLimit{
	{"claude-code", "Claude Code", 50_000, "32KB"},
	{"codex", "Codex", LeastShown, "8KB"},
	{"copilot", "Copilot CLI", 30 << 10, "24KB"},
	{"opencode", "opencode", 50 << 10, "32KB"},
	{"hermes", "Hermes", 50_000, "32KB"},
}

// LeastShown is the least that any of them shows.
const LeastShown = 10 << 10

// Large is how many results were larger than what a client shows, and the
// limit that would show them in part.
type Large struct {
	Client string `json:"client"`
	Count  int64  `json:"count"`
	Shows  int    `json:"shows"`
	Limit  string `json:"limit"`
}

// LargeCounts count such results. The zero value has none.
type LargeCounts struct {
	mu sync.Mutex
	by map[string]int64
}

// Note counts a result of that size for the client that gives a name where it
// is too large for it.
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

// List is what was counted; never nil.
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
