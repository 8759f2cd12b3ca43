package upstream

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream/failure"
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
	Upstreams []*Upstream // in the order of the configuration
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
func (v *SchemaView) Upstream(name string) *Upstream {
	for _, u := range v.Upstreams {
		if u.name == name {
			return u
		}
	}
	return nil
}

// A Set holds all upstreams and reconciles them with the configuration.
type Set struct {
	opt  Options
	life context.Context
	kill context.CancelFunc

	current  atomic.Pointer[Snapshot]
	revision atomic.Uint64

	mu       sync.Mutex // serializes Apply
	closed   bool
	draining sync.WaitGroup
}

// dialsAtOnce limits how many servers are dialed concurrently.
const dialsAtOnce = 32

// NewSet returns an empty set. Its upstreams stop when the context ends.
func NewSet(ctx context.Context, opt Options) *Set {
	s := &Set{opt: opt}
	s.life, s.kill = context.WithCancel(ctx)
	s.opt.dials = queue.NewSemaphore(dialsAtOnce)
	tell := opt.OnChange
	s.opt.OnChange = func(u *Upstream) {
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
	var replaced [][2]*Upstream
	kept := make(map[*Upstream]bool)
	for _, schema := range cfg.Schemas {
		if !schema.Enabled || only != nil && !slices.Contains(only, schema.Name) {
			continue
		}
		view := &SchemaView{Config: schema}
		before := old.Schema(schema.Name)
		for _, server := range schema.Servers {
			u, was := s.place(before, server)
			if was != nil && u != was {
				replaced = append(replaced, [2]*Upstream{was, u})
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
func (s *Set) place(before *SchemaView, cfg *config.Server) (u, was *Upstream) {
	if before != nil {
		was = before.Upstream(cfg.Name)
	}
	if was != nil && was.hash == cfg.Hash() && was.Config().Runnable() == cfg.Runnable() {
		was.config.Store(cfg)
		restand(&was.entry)
		was.repin()
		return was, was
	}
	u = newUpstream(s.life, cfg, &s.opt)
	u.start()
	if was != nil && !was.Config().Runnable() {
		s.retire(was)
		was = nil
	}
	return u, was
}

// Repin checks the definitions of all servers again whose pins have changed.
func (s *Set) Repin() {
	for _, view := range s.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			u.repin()
		}
	}
}

func (u *Upstream) start() {
	cfg := u.Config()
	switch {
	case !cfg.Enabled:
		u.setState(Disabled, nil)
	case cfg.Pending:
		u.setState(Pending, nil)
	case len(cfg.Missing) > 0:
		u.setState(Unconfigured, &failure.MissingError{Names: cfg.Missing})
	default:
		u.state = Starting
		u.background.Go(u.supervisor.run)
	}
}

// replace waits until the new upstream has answered or failed once, puts it in the place of
// the old one, and retires the old one.
func (s *Set) replace(was, now *Upstream) {
	select {
	case <-now.settled:
	case <-s.life.Done():
	}
	s.mu.Lock()
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
func (s *Set) retire(u *Upstream) {
	s.draining.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, s.opt.Limits.Drain)
		defer cancel()
		u.queue.Idle(ctx)
		u.close(context.WithoutCancel(ctx))
	})
}
