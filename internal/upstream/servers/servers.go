// Package servers holds the upstreams of all configured servers, and starts, replaces and
// stops them when the configuration changes.
package servers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/queue"
)

// A Snapshot is a configuration and its upstreams. It is immutable. A request loads it
// once, so that the names and the servers they lead to always match.
type Snapshot struct {
	Config  *config.Config
	Schemas []*SchemaView
}

// A SchemaView is one schema of a snapshot.
type SchemaView struct {
	Config    *config.Schema
	Upstreams []*upstream.Upstream // in the order of the configuration
}

// Schema returns the schema with the given name; nil if there is none or it is disabled.
func (s *Snapshot) Schema(name string) *SchemaView {
	for _, v := range s.Schemas {
		if v.Config.Name == name {
			return v
		}
	}
	return nil
}

// Upstream returns the upstream with the given name, or nil.
func (v *SchemaView) Upstream(name string) *upstream.Upstream {
	for _, u := range v.Upstreams {
		if u.Name() == name {
			return u
		}
	}
	return nil
}

// A Set holds all upstreams and reconciles them with the configuration.
type Set struct {
	opt  upstream.Options
	life context.Context
	kill context.CancelFunc

	current  atomic.Pointer[Snapshot]
	revision atomic.Uint64

	mu     sync.Mutex // serializes Apply
	closed bool
	// successors will replace the servers that are their keys, when they are ready.
	successors map[*upstream.Upstream]*upstream.Upstream
	draining   sync.WaitGroup
}

// dialsAtOnce limits how many servers are dialed concurrently.
const dialsAtOnce = 32

// NewSet returns an empty set. Its upstreams stop when the context ends.
func NewSet(ctx context.Context, opt upstream.Options) *Set {
	s := &Set{opt: opt, successors: make(map[*upstream.Upstream]*upstream.Upstream)}
	s.life, s.kill = context.WithCancel(ctx)
	s.opt.Dials = queue.NewSemaphore(dialsAtOnce)
	tell := opt.OnChange
	s.opt.OnChange = func(u *upstream.Upstream) {
		s.revision.Add(1)
		if tell != nil {
			tell(u)
		}
	}
	s.current.Store(&Snapshot{Config: &config.Config{}})
	return s
}

// Snapshot returns the current snapshot, which routes requests.
func (s *Set) Snapshot() *Snapshot { return s.current.Load() }

// Revision returns a number that changes whenever the features or the state of an upstream
// may have changed.
func (s *Set) Revision() uint64 { return s.revision.Load() }

// Apply reconciles the set with the configuration. An unchanged server keeps its process. A
// changed server is replaced when its successor is ready, and finishes its calls in flight.
// If only is not nil, only the schemas that it names run.
func (s *Set) Apply(cfg *config.Config, only []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	old := s.current.Load()
	next := &Snapshot{Config: cfg}
	var replaced [][2]*upstream.Upstream
	kept := make(map[*upstream.Upstream]bool)
	for _, schema := range cfg.Schemas {
		if !schema.Enabled || only != nil && !slices.Contains(only, schema.Name) {
			continue
		}
		view := &SchemaView{Config: schema}
		before := old.Schema(schema.Name)
		for _, server := range schema.Servers {
			u, was := s.place(before, server)
			if was != nil && u != was {
				if s.successors[was] != u {
					s.successors[was] = u
					replaced = append(replaced, [2]*upstream.Upstream{was, u})
				}
				view.Upstreams = append(view.Upstreams, was)
				kept[was] = true
				continue
			}
			view.Upstreams = append(view.Upstreams, u)
			kept[u] = true
		}
		next.Schemas = append(next.Schemas, view)
	}
	s.current.Store(next)
	s.revision.Add(1)
	for _, view := range old.Schemas {
		for _, u := range view.Upstreams {
			if !kept[u] {
				s.supersede(u)
				s.retire(u)
			}
		}
	}
	for _, pair := range replaced {
		s.draining.Go(func() { s.replace(pair[0], pair[1]) })
	}
	if s.opt.OnChange != nil {
		s.opt.OnChange(nil)
	}
}

// place returns the upstream for a configured server: the running one if no relevant
// setting changed, otherwise a new one. was is the running one that u replaces.
func (s *Set) place(before *SchemaView, cfg *config.Server) (u, was *upstream.Upstream) {
	if before != nil {
		was = before.Upstream(cfg.Name)
	}
	if was != nil && was.Adopt(cfg) {
		s.supersede(was)
		return was, was
	}
	if next := s.successors[was]; next != nil && next.Adopt(cfg) {
		return next, was
	}
	s.supersede(was)
	u = upstream.Start(s.life, cfg, &s.opt)
	if was != nil && (!was.Config().Runnable() || !cfg.Runnable()) {
		s.retire(was)
		was = nil
	}
	return u, was
}

// supersede stops the successor of u, if there is one, because it will not replace u.
func (s *Set) supersede(u *upstream.Upstream) {
	if next := s.successors[u]; next != nil {
		delete(s.successors, u)
		s.retire(next)
	}
}

// Repin checks the definitions of all servers again whose pins have changed.
func (s *Set) Repin() {
	for _, view := range s.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			u.Repin()
		}
	}
}

// replace waits until the new upstream has answered or failed once, puts it in the place of
// the old one, and retires the old one.
func (s *Set) replace(was, now *upstream.Upstream) {
	select {
	case <-now.Settled():
	case <-s.life.Done():
	}
	s.mu.Lock()
	if s.successors[was] != now { // superseded meanwhile
		s.mu.Unlock()
		return
	}
	delete(s.successors, was)
	cur := s.current.Load()
	next := &Snapshot{Config: cur.Config}
	for _, view := range cur.Schemas {
		v := &SchemaView{Config: view.Config, Upstreams: slices.Clone(view.Upstreams)}
		for i, u := range v.Upstreams {
			if u == was {
				v.Upstreams[i] = now
			}
		}
		next.Schemas = append(next.Schemas, v)
	}
	s.current.Store(next)
	s.mu.Unlock()
	s.opt.OnChange(now)
	s.retire(was)
}

// retire stops an upstream after its calls in flight have finished.
func (s *Set) retire(u *upstream.Upstream) {
	s.draining.Go(func() { u.Close(s.life, s.opt.Limits.Drain) })
}

// Close stops all upstreams in parallel and waits for them.
func (s *Set) Close(ctx context.Context) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	snap := s.current.Load()
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, view := range snap.Schemas {
		for _, u := range view.Upstreams {
			wg.Go(func() { u.Close(ctx, 0) })
		}
	}
	wg.Wait()
	s.kill()
	s.draining.Wait()
}
