package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/results"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/upstream"
)

// look returns the session's view of the present state. It costs two atomic
// loads while nothing changes.
func (s *Session) look() *view.View {
	rev := s.gw.set.Revision()
	if v := s.view.Load(); v != nil && v.Revision == rev {
		return v
	}
	v := s.viewAt(rev)
	s.view.Store(v)
	return v
}

// viewAt is the session's view at a revision. Requests outside any session share
// theirs.
func (s *Session) viewAt(revision uint64) *view.View {
	o := &s.opening
	if o.Session || o.Stdio {
		v := s.newView()
		v.Revision = revision
		return &v
	}
	return s.gw.views.Outside(view.Outsider{
		Schema: o.Schema, Server: o.Server, Principal: o.Who.ID, Scope: s.scope, Mode: s.modeKey(o.Who.Mode), Offer: s.caller.Offer.Key(), Own: s.own(),
	}, revision, s.newView)
}

// newView is what the session sees of the present state. Sessions that see the
// same servers with the same features share what was merged.
func (s *Session) newView() view.View {
	snap := s.gw.set.Snapshot().Schema(s.opening.Schema)
	if snap == nil {
		none := catalog.Merge(nil, catalog.Options{})
		return view.View{Shown: none, All: none, Cost: s.measure(none, none)}
	}
	sources, id := s.sources(snap)
	return s.gw.views.Merged(func(load view.Load) view.View {
		in := func(mode string) view.View {
			return load(id+s.modeKey(mode), func() view.View { return s.merge(sources, mode) })
		}
		mode := s.mode()
		if mode != builtin.ModeAuto || s.opening.Server != "" {
			return in(mode)
		}
		full := in(builtin.ModeFull)
		picked := s.pick(full)
		v := full
		if picked.Mode != builtin.ModeFull {
			v = in(picked.Mode)
		} else {
			// A client that was shown them before may call them still.
			v.Compact = in(builtin.ModeCompact).Compact
		}
		v.Choice = picked
		return v
	})
}

// merge makes the catalogues of a view: what the servers have, and what is
// shown of it.
func (s *Session) merge(sources []catalog.Source, mode string) view.View {
	opt := catalog.Options{Meta: s.gw.resultMeta()}
	if s.opening.Server == "" {
		opt.Addresses = s.gw.opt.Addresses.Of(s.opening.Schema)
		defer s.gw.opt.Addresses.Save()
	}
	v := view.View{All: catalog.Merge(sources, opt), Mode: mode}
	v.Shown = v.All
	v.Cost = s.measure(v.All, v.All)
	if s.opening.Server != "" {
		return v
	}
	eyes := catalog.View{Scope: s.scope, Visible: s.visible()}
	if v.Compact = builtin.Compact(mode, v.All, eyes, s.gw.config(), s.hasCode(), s.reads()); v.Compact != nil {
		hidden := make([]catalog.Source, len(sources))
		for i, src := range sources {
			hidden[i] = src.WithoutTools()
		}
		v.Shown = catalog.Merge(append(hidden, v.Compact.Source()), opt)
		return v
	}
	if own := s.own(); own != nil {
		v.Shown = catalog.Merge(append(sources[:len(sources):len(sources)], own.Source()), opt)
		v.Cost = s.measure(v.Shown, v.All)
	}
	return v
}

// own returns our own tools, for the principals who may use them.
func (s *Session) own() *builtin.Set {
	reads := s.reads()
	switch {
	case !s.opening.Who.MayConfigure() || s.gw.opt.Own == nil:
		if reads {
			return results.ReaderAlone
		}
		return nil
	case reads:
		return s.gw.ownReading()
	}
	return s.gw.opt.Own
}

// sources are the servers of the session with what they offer to it, and an id
// that is equal for equal sources.
func (s *Session) sources(v *upstream.SchemaView) ([]catalog.Source, string) {
	var id strings.Builder
	file := s.gw.config().Results
	fmt.Fprintf(&id, "%t/%s/%s/%p/%p/%s/%d/%d/%s", s.opening.Peer, s.opening.Schema, s.opening.Server, v.Config, s.own(), s.scope, s.opening.Who.Results, file.Limit, file.Structured)
	var sources []catalog.Source
	for _, u := range v.Upstreams {
		if s.opening.Server != "" && u.Name() != s.opening.Server {
			continue
		}
		if u.Absent() {
			continue
		}
		state, _ := u.State()
		features := u.Features(s.caller)
		policy := u.Policy()
		if s.opening.Peer {
			policy = catalog.Policy{}
		}
		if s.opening.Server != "" || v.Config.Naming == "none" {
			policy.Naming = catalog.NamingNone
		}
		if s.reads() {
			policy.Untyped = s.resultRules().Untyped(u.Config())
		}
		sources = append(sources, catalog.Source{Server: u.Name(), Features: features, Policy: policy, State: string(state)})
		fmt.Fprintf(&id, "|%p %p %s", features, u.Config(), state)
	}
	return sources, id.String()
}

// mode is what the session is shown: the tools, or two that stand for them.
func (s *Session) mode() string {
	if s.opening.Who.Mode != "" {
		return s.opening.Who.Mode
	}
	return s.schemaConfig().Mode
}

func (s *Session) schemaConfig() *config.Schema {
	if v := s.gw.set.Snapshot().Schema(s.opening.Schema); v != nil {
		return v.Config
	}
	return &config.Schema{}
}

// settle waits before the first list of a session until each server has
// answered or failed once, for a bounded time: an empty list would be cached
// by the client.
func (s *Session) settle(ctx context.Context) {
	s.waitOnce.Do(func() {
		wait := s.gw.config().StartWait
		if !s.opening.Session && !s.opening.Stdio {
			wait = s.startLeft() // requests outside any session wait together, once
		}
		if s.opening.Header != nil && !s.caller.Offer.Empty() {
			wait = maxHello // a connection that offers the same is mostly there
		}
		s.prepare(ctx, s.caller, wait)
	})
}

// startLeft is how long a client waits for servers that start with the gateway.
func (s *Session) startLeft() time.Duration {
	wait := s.gw.config().StartWait
	if s.opening.Stdio {
		return wait // the servers start when the client has said hello
	}
	return min(wait, time.Until(s.gw.started.Add(wait)))
}

// maxHello bounds how long the answer to a handshake waits, however long lists
// may: the shortest limit of a known client is 5 s.
const maxHello = 4 * time.Second

// hello waits for servers that start, before a client is told what they can do.
func (s *Session) hello(ctx context.Context) { s.prepare(ctx, s.caller, min(s.startLeft(), maxHello)) }

// meet waits until the servers that speak the era of a modern client, too, have
// told what they can do in it.
func (s *Session) meet(ctx context.Context, p party) { s.prepare(ctx, p.caller, maxHello) }

// prepare waits until each server has answered or failed once.
func (s *Session) prepare(ctx context.Context, c *upstream.Caller, wait time.Duration) {
	if wait <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var wg sync.WaitGroup
	for _, u := range s.upstreams() {
		wg.Go(func() { u.Prepare(ctx, c) })
	}
	wg.Wait()
}

// awaitServer waits until one server has answered or failed once.
func awaitServer(ctx context.Context, u *upstream.Upstream, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-u.Settled():
	case <-t.C:
	case <-ctx.Done():
	}
}
