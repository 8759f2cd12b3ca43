package gateway

import (
	"fmt"
	"strings"
	"sync/atomic"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/servers"
)

// A viewer holds the client's view of the servers, and which state it was last
// notified about.
type viewer struct {
	sight
	view      atomic.Pointer[view.View]
	picked    atomic.Pointer[view.Choice] // the mode of the session
	announced atomic.Pointer[view.View]   // the view at the last notification
}

// look returns the session's current view. It costs two atomic loads while
// nothing changes.
func (w *viewer) look() *view.View {
	rev := w.gw.set.Revision()
	if v := w.view.Load(); v != nil && v.Revision == rev {
		return v
	}
	v := w.viewAt(rev)
	w.view.Store(v)
	return v
}

// viewAt returns the session's view at a revision. Requests outside any session
// share views.
func (w *viewer) viewAt(revision uint64) *view.View {
	o := &w.opening
	if o.Session || o.Stdio {
		v := w.newView()
		v.Revision = revision
		return &v
	}
	return w.gw.views.Outside(view.Outsider{
		Schema: o.Schema, Server: o.Server, Principal: o.Who.ID, Scope: w.scope, Mode: w.modeKey(o.Who.Mode), Offer: w.caller.Offer.Key(), Own: w.own(),
	}, revision, w.newView)
}

// newView builds the session's view of the current state. Sessions that see the
// same servers with the same features share the merged catalogue.
func (w *viewer) newView() view.View {
	snap := w.gw.set.Snapshot().Schema(w.opening.Schema)
	if snap == nil {
		none := catalog.Merge(nil, catalog.Options{})
		return view.View{Shown: none, All: none, Cost: w.measure(none, none)}
	}
	sources, id := w.sources(snap)
	return w.gw.views.Merged(func(load view.Load) view.View {
		in := func(mode string) view.View {
			return load(id+w.modeKey(mode), func() view.View { return w.merge(sources, mode) })
		}
		mode := w.mode()
		if mode != builtin.ModeAuto || w.opening.Server != "" {
			return in(mode)
		}
		full := in(builtin.ModeFull)
		picked := w.pick(full)
		v := full
		if picked.Mode != builtin.ModeFull {
			v = in(picked.Mode)
		} else {
			// A client may call tools that it was shown before.
			v.Compact = in(builtin.ModeCompact).Compact
		}
		v.Choice = picked
		return v
	})
}

// merge builds the catalogues of a view: all features of the servers, and the
// ones that the mode shows.
func (w *viewer) merge(sources []catalog.Source, mode string) view.View {
	opt := catalog.Options{Meta: w.gw.resultMeta()}
	if w.opening.Server == "" {
		opt.Addresses = w.gw.opt.Addresses.Of(w.opening.Schema)
		defer w.gw.opt.Addresses.Save()
	}
	v := view.View{All: catalog.Merge(sources, opt), Mode: mode}
	v.Shown = v.All
	v.Cost = w.measure(v.All, v.All)
	if w.opening.Server != "" {
		return v
	}
	eyes := catalog.View{Scope: w.scope, Visible: w.visible()}
	if v.Compact = builtin.Compact(mode, v.All, eyes, w.gw.config(), w.hasCode(), w.reads()); v.Compact != nil {
		hidden := make([]catalog.Source, len(sources))
		for i, src := range sources {
			hidden[i] = src.WithoutTools()
		}
		v.Shown = catalog.Merge(append(hidden, v.Compact.Source()), opt)
		return v
	}
	if own := w.own(); own != nil {
		v.Shown = catalog.Merge(append(sources[:len(sources):len(sources)], own.Source()), opt)
		v.Cost = w.measure(v.Shown, v.All)
	}
	return v
}

// sources returns the servers of the session with the features that it may see,
// and an id that is equal for equal sources.
func (w *viewer) sources(v *servers.SchemaView) ([]catalog.Source, string) {
	var id strings.Builder
	file := w.gw.config().Results
	fmt.Fprintf(&id, "%t/%s/%s/%p/%p/%s/%d/%d/%s", w.opening.Peer, w.opening.Schema, w.opening.Server, v.Config, w.own(), w.scope, w.opening.Who.Results, file.Limit, file.Structured)
	var sources []catalog.Source
	for _, u := range v.Upstreams {
		if w.opening.Server != "" && u.Name() != w.opening.Server {
			continue
		}
		if u.Absent() {
			continue
		}
		state, _ := u.State()
		features := u.Features(w.caller)
		policy := u.Policy()
		if w.opening.Peer {
			policy = catalog.Policy{}
		}
		if w.opening.Server != "" || v.Config.Naming == "none" {
			policy.Naming = catalog.NamingNone
		}
		if w.reads() {
			policy.Untyped = w.resultRules().Untyped(u.Config())
		}
		sources = append(sources, catalog.Source{Server: u.Name(), Features: features, Policy: policy, State: string(state)})
		fmt.Fprintf(&id, "|%p %p %s", features, u.Config(), state)
	}
	return sources, id.String()
}

// measure prepares the costs of a view: full is the catalogue in full mode, all
// the catalogue behind the compact modes.
func (w *viewer) measure(full, all *catalog.Catalog) view.Costs {
	eyes := catalog.View{Scope: w.scope, Visible: w.visible()}
	cfg := w.gw.config()
	return view.Measure(full, all, eyes, func(mode string) *builtin.Set {
		return builtin.Compact(mode, all, eyes, cfg, w.hasCode(), w.reads())
	})
}

// pick chooses the mode of an auto schema for this session. A session keeps its
// first mode. For a modern request the choice depends on the tools alone, not
// on the client.
func (w *viewer) pick(full view.View) view.Choice {
	if kept := w.picked.Load(); kept != nil {
		return *kept
	}
	most := 0
	if limits := receipt.LimitOf(w.clientName()); limits != nil {
		most = limits.Tools
	}
	return view.Choose(full.Cost.All(), full.Cost.Tools(), full.Cost.Named(), most)
}

// keep stores the first mode of a session.
func (w *viewer) keep(v *view.View) {
	if v.Choice.Mode == "" || !w.opening.Session || !w.picked.CompareAndSwap(nil, &v.Choice) {
		return
	}
	w.gw.log.Info("mode chosen", "schema", w.opening.Schema, "session", w.caller.Session, "mode", v.Choice.Mode, "why", v.Choice.Why)
}

// listView returns how lists are written for this client.
func (w *viewer) listView(kind catalog.Kind) catalog.View {
	return catalog.View{Version: w.rules.Date, Scope: w.scope, Visible: w.sees(kind), Fit: w.fit(mcp.Legacy), UI: w.caller.Offer.ShowsApps()}
}

// modernView returns how lists are written for a modern client.
func (w *viewer) modernView(c *upstream.Caller) func(catalog.Kind) catalog.View {
	return func(kind catalog.Kind) catalog.View {
		return catalog.View{Version: mcp.LatestModern, Modern: true, Scope: w.scope, Visible: w.sees(kind), Fit: w.fit(mcp.Modern), UI: c.Offer.ShowsApps()}
	}
}
