package view

import (
	"sync"

	"mcp-all-in-one/internal/builtin"
)

// A Cache keeps what was merged: sessions that see the same servers with the
// same features share it.
type Cache struct {
	mu   sync.Mutex
	byID map[string]View
	used []string // oldest first
	// outside are the views of requests outside any session, which would be
	// looked for each time, at one revision.
	outside   map[Outsider]*View
	outsideAt uint64
}

const maxViews = 64

// An Outsider is all that tells requests outside any session apart.
type Outsider struct {
	Schema, Server, Principal, Scope, Mode, Offer string
	Own                                           *builtin.Set
}

// Clear forgets what can be merged again.
func (c *Cache) Clear() {
	c.mu.Lock()
	c.byID, c.used, c.outside = nil, nil, nil
	c.mu.Unlock()
}

// Outside is the view of a request outside any session at a revision, made by get
// where nobody who is the same to us has asked before.
func (c *Cache) Outside(who Outsider, revision uint64, get func() View) *View {
	c.mu.Lock()
	known := c.outside[who]
	c.mu.Unlock()
	if known != nil && known.Revision == revision {
		return known
	}
	v := get()
	v.Revision = revision
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outside == nil || c.outsideAt != revision || len(c.outside) >= maxViews {
		c.outside, c.outsideAt = make(map[Outsider]*View), revision // what is old is not kept alive
	}
	c.outside[who] = &v
	return &v
}

// A Load returns what is kept under an id, or makes it.
type Load func(id string, merge func() View) View

// Merged returns what get makes of what is kept. Nobody else merges meanwhile:
// sessions that need the same wait for it.
func (c *Cache) Merged(get func(Load) View) View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return get(c.load)
}

// load returns what is kept under an id, or makes it.
func (c *Cache) load(id string, merge func() View) View {
	if v, ok := c.byID[id]; ok {
		return v
	}
	v := merge()
	if c.byID == nil {
		c.byID = make(map[string]View)
	}
	c.byID[id] = v
	c.used = append(c.used, id)
	if len(c.used) > maxViews {
		delete(c.byID, c.used[0])
		c.used = c.used[1:]
	}
	return v
}
