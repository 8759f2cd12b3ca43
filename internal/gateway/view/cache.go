package view

import (
	"sync"

	"mcp-all-in-one/internal/builtin"
)

// A Cache keeps merged catalogues. Sessions that see the same servers with the
// same features share one.
type Cache struct {
	mu   sync.Mutex
	byID map[string]View
	used []string // oldest first
	// outside are the views of requests outside any session, all of one
	// revision. They save a lookup for each request.
	outside   map[Outsider]*View
	outsideAt uint64
}

const maxViews = 64

// An Outsider identifies the view of a request outside any session.
type Outsider struct {
	Schema, Server, Principal, Scope, Mode, Offer string
	Own                                           *builtin.Set
}

// Clear drops everything that can be merged again.
func (c *Cache) Clear() {
	c.mu.Lock()
	c.byID, c.used, c.outside = nil, nil, nil
	c.mu.Unlock()
}

// Outside returns the view of a request outside any session at a revision. It
// calls get for the first request of an Outsider.
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
		c.outside, c.outsideAt = make(map[Outsider]*View), revision // drops the old views
	}
	c.outside[who] = &v
	return &v
}

// A Load returns the catalogue with an id, or merges it.
type Load func(id string, merge func() View) View

// Merged calls get with a Load. Only one goroutine merges at a time: sessions
// that need the same catalogue wait for it.
func (c *Cache) Merged(get func(Load) View) View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return get(c.load)
}

// load returns the catalogue with an id, or merges it.
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
