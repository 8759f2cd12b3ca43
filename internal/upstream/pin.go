package upstream

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
)

// The values of a server's pin.
const (
	pinOff  = "off"
	pinHold = "hold"
)

// A ToolChange is a tool whose definition is no longer the one that was first
// seen, or last approved.
type ToolChange struct {
	Tool string `json:"tool"`
	// Withheld says that it is not listed until somebody approves it.
	Withheld bool `json:"withheld"`
	// Fingerprint is that of the new definition.
	Fingerprint string           `json:"fingerprint"`
	Changes     []catalog.Change `json:"changes"`
}

// A pinner holds the tools of one server against what is remembered of them.
type pinner struct {
	pins *Pins
	id   string

	mu      sync.Mutex
	book    pinBook
	read    pinStamp // the state of the file that book is from
	mode    string
	changed []ToolChange
}

// check returns the tools that may be listed, and what is to be said about
// those that changed. A tool that is new is remembered and listed.
func (p *pinner) check(items []catalog.Item, mode string) ([]catalog.Item, []catalog.Issue, error) {
	if p.pins == nil || mode == pinOff {
		p.mu.Lock()
		p.mode, p.changed = mode, nil
		p.mu.Unlock()
		return items, nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	p.loadLocked()
	var err error
	if p.book.learn(items) {
		// What a disk refuses to keep is kept in memory.
		var next pinBook
		if err = p.pins.update(p.id, func(b pinBook) pinBook { b.learn(items); next = b; return b }); err == nil {
			p.book = next
		}
		p.read = p.pins.stamp(p.id)
	}
	p.changed = p.book.changes(items, mode == pinHold)
	var issues []catalog.Issue
	for _, c := range p.changed {
		issues = append(issues, catalog.Issue{Item: c.Tool, Withheld: c.Withheld, Detail: c.text()})
	}
	if mode == pinHold && len(p.changed) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(it catalog.Item) bool {
			return slices.ContainsFunc(p.changed, func(c ToolChange) bool { return c.Tool == it.Key })
		})
	}
	return items, issues, err
}

func (p *pinner) loadLocked() {
	if now := p.pins.stamp(p.id); p.book == nil || now != p.read {
		p.book, p.read = p.pins.load(p.id), now
	}
}

// outdated says that what was last checked has to be checked again: somebody
// approved something, or the configuration says otherwise.
func (p *pinner) outdated(mode string) bool {
	if p.pins == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode != "" && (p.mode != mode || mode != pinOff && p.pins.stamp(p.id) != p.read)
}

func (p *pinner) list() []ToolChange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// text says in one line what changed.
func (c *ToolChange) text() string {
	text := "its definition changed"
	if c.Withheld {
		text += ", so it is withheld until it is approved"
	}
	for i, change := range c.Changes {
		if i == 3 {
			return fmt.Sprintf("%s; and %d more", text, len(c.Changes)-i)
		}
		text += fmt.Sprintf("; %s was %s, is %s", change.Path, orNothing(change.Was), orNothing(change.Now))
	}
	return text
}

func orNothing(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// pinned holds the tools of a list against what is remembered of them.
func (u *Upstream) pinned(items []catalog.Item) ([]catalog.Item, []catalog.Issue) {
	items, issues, err := u.pins.check(items, u.server().Pin)
	if err != nil {
		u.log.Warn("remembering tools", "err", err)
	}
	return items, issues
}

// repin fetches the tools again when they have to be checked anew.
func (u *Upstream) repin() {
	if !u.pins.outdated(u.server().Pin) {
		return
	}
	u.mu.Lock()
	slots := []*slot{u.primary}
	for _, s := range u.slots {
		slots = append(slots, s)
	}
	u.mu.Unlock()
	for _, s := range slots {
		if l := s.current(); l != nil {
			l.refresh.mark(kindTools)
		}
	}
}

// Approve accepts the changed tools as they are now.
func (u *Upstream) Approve() error {
	shown := make(map[string]string)
	for _, c := range u.pins.list() {
		shown[c.Tool] = c.Fingerprint
	}
	if len(shown) == 0 {
		return nil
	}
	if err := u.opt.Pins.Approve(u.pins.id, shown); err != nil {
		return err
	}
	u.repin()
	return nil
}

// sameDefinition says whether two definitions mean the same.
func sameDefinition(a, b []byte) bool {
	return bytes.Equal(a, b) || catalog.Fingerprint(a) == catalog.Fingerprint(b)
}
