package gateway

import (
	"sync"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
)

// viewCache keeps what was merged: sessions that see the same servers with the
// same features share it.
type viewCache struct {
	mu   sync.Mutex
	byID map[string]view
	used []string // oldest first
	// outside are the views of requests outside any session, which would be
	// looked for each time, at one revision.
	outside   map[outsider]*view
	outsideAt uint64
}

const maxViews = 64

// An outsider is all that tells requests outside any session apart.
type outsider struct {
	schema, server, principal, scope, mode, offer string
	own                                           *builtin.Set
}

// clear forgets what can be merged again.
func (c *viewCache) clear() {
	c.mu.Lock()
	c.byID, c.used, c.outside = nil, nil, nil
	c.mu.Unlock()
}

// at returns the view of a session at a revision.
func (c *viewCache) at(s *Session, revision uint64) *view {
	o := &s.opening
	if o.Session || o.Stdio {
		v := c.get(s)
		v.revision = revision
		return &v
	}
	who := outsider{o.Schema, o.Server, o.Who.ID, s.scope, s.modeKey(o.Who.Mode), s.caller.Offer.Key(), s.own()}
	c.mu.Lock()
	known := c.outside[who]
	c.mu.Unlock()
	if known != nil && known.revision == revision {
		return known
	}
	v := c.get(s)
	v.revision = revision
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outside == nil || c.outsideAt != revision || len(c.outside) >= maxViews {
		c.outside, c.outsideAt = make(map[outsider]*view), revision // what is old is not kept alive
	}
	c.outside[who] = &v
	return &v
}

func (c *viewCache) get(s *Session) view {
	snap := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if snap == nil {
		none := catalog.Merge(nil, catalog.Options{})
		return view{shown: none, all: none, cost: s.measure(none, none)}
	}
	sources, id := s.sources(snap)
	c.mu.Lock()
	defer c.mu.Unlock()
	mode := s.mode()
	if mode != builtin.ModeAuto || s.opening.Server != "" {
		return c.load(id+s.modeKey(mode), func() view { return s.merge(sources, mode) })
	}
	full := c.load(id+s.modeKey(builtin.ModeFull), func() view { return s.merge(sources, builtin.ModeFull) })
	picked := s.pick(full)
	v := full
	if small := picked.mode; small != builtin.ModeFull {
		v = c.load(id+s.modeKey(small), func() view { return s.merge(sources, small) })
	} else {
		// A client that was shown them before may call them still.
		v.compact = c.load(id+s.modeKey(builtin.ModeCompact), func() view { return s.merge(sources, builtin.ModeCompact) }).compact
	}
	v.choice = picked
	return v
}

// load returns what is kept under an id, or makes it.
func (c *viewCache) load(id string, merge func() view) view {
	if v, ok := c.byID[id]; ok {
		return v
	}
	v := merge()
	if c.byID == nil {
		c.byID = make(map[string]view)
	}
	c.byID[id] = v
	c.used = append(c.used, id)
	if len(c.used) > maxViews {
		delete(c.byID, c.used[0])
		c.used = c.used[1:]
	}
	return v
}
