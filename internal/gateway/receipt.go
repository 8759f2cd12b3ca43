package gateway

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// A Receipt is what clients were shown, what that cost them, and what it would
// have cost otherwise. Tokens are estimates.
type Receipt struct {
	Session string `json:"session,omitempty"`
	Key     string `json:"key,omitempty"` // who it was that was shown it
	Client  string `json:"client,omitempty"`
	Mode    string `json:"mode"`
	Why     string `json:"why,omitempty"` // of a mode that was chosen
	WhyZH   string `json:"whyZH,omitempty"`
	Tools   int    `json:"tools"`
	// Lists is how often the tools were listed, Shown what that came to.
	Lists int64        `json:"lists"`
	Shown catalog.Cost `json:"shown"`
	// Inspections is how often tools were looked up in the compact modes,
	// Inspected what the answers came to.
	Inspections int64        `json:"inspections"`
	Inspected   catalog.Cost `json:"inspected"`
	// Scripts is how many were run, Calls how many calls those made; Returned
	// is what the clients were shown of them, Inner what the results of the
	// calls would have cost.
	Scripts  int64        `json:"scripts"`
	Calls    int64        `json:"calls"`
	Returned catalog.Cost `json:"returned"`
	Inner    catalog.Cost `json:"inner"`
	// Cut is how many results were shown in part, Kept what was left out.
	Cut  int64        `json:"cut"`
	Kept catalog.Cost `json:"kept"`
	// List is what one list of the tools costs in each mode.
	List catalog.Receipt `json:"list"`
	// Warnings say what known clients cannot take of it.
	Warnings   []string `json:"warnings"`
	WarningsZH []string `json:"warningsZH"`
}

// A SchemaReceipt is the receipt of a schema since the start, with those of
// the sessions that are open.
type SchemaReceipt struct {
	Receipt
	// Advice is the mode that auto would choose.
	Advice Advice `json:"advice"`
	// Own is what our own tools add to a full list of a client that may change
	// the configuration: on stdio, and with a key of an administrator.
	Own catalog.Cost `json:"own"`
	// Large are the clients to which results passed that they do not show
	// whole to their models.
	Large    []kept.Large `json:"large"`
	Sessions []Receipt    `json:"sessions"`
	// Keys are those that listed the tools last, with what each was shown.
	Keys []Receipt `json:"keys"`
}

// Advice is a mode, and why.
type Advice struct {
	Mode  string `json:"mode"`
	Why   string `json:"why"`
	WhyZH string `json:"whyZH"`
}

// A tally counts what clients were shown.
type tally struct {
	lists, shownBytes, shownTokens       atomic.Int64
	inspections, foundBytes, foundTokens atomic.Int64
	saved                                savings
	large                                kept.LargeCounts
}

func (t *tally) list(c catalog.Cost) {
	t.lists.Add(1)
	t.shownBytes.Add(int64(c.Bytes))
	t.shownTokens.Add(int64(c.Tokens))
}

func (t *tally) inspect(c catalog.Cost) {
	t.inspections.Add(1)
	t.foundBytes.Add(int64(c.Bytes))
	t.foundTokens.Add(int64(c.Tokens))
}

func (t *tally) fill(r *Receipt) {
	r.Lists, r.Inspections = t.lists.Load(), t.inspections.Load()
	r.Shown = catalog.Cost{Bytes: int(t.shownBytes.Load()), Tokens: int(t.shownTokens.Load())}
	r.Inspected = catalog.Cost{Bytes: int(t.foundBytes.Load()), Tokens: int(t.foundTokens.Load())}
	t.saved.fill(r)
}

// tallies are the counts by schema, and by key within a schema.
type tallies struct {
	mu   sync.Mutex
	by   map[string]*tally
	keys map[string][]Receipt
}

func (t *tallies) of(schema string) *tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.by[schema]
	if one == nil {
		if t.by == nil {
			t.by = make(map[string]*tally)
		}
		one = &tally{}
		t.by[schema] = one
	}
	return one
}

// showed notes that the session was shown its tools.
func (s *Session) showed(v *view) {
	if s.opening.Server != "" {
		return
	}
	cost := v.cost.in(v.mode)
	s.tally.list(cost)
	s.gw.tallies.of(s.opening.Schema).list(cost)
	if s.opening.Who.ID != "" {
		s.showedKey(v, cost)
	}
}

// inspected notes what one of our own tools answered.
func (s *Session) inspected(tool string, result []byte) {
	if tool != "inspect" && tool != "describe" {
		return
	}
	cost := catalog.CostOf(result)
	s.tally.inspect(cost)
	s.gw.tallies.of(s.opening.Schema).inspect(cost)
}

// receipt is what the session was shown so far.
func (s *Session) receipt() Receipt {
	v := s.look()
	eyes := catalog.View{Scope: s.scope, Visible: s.visible()}
	r := Receipt{
		Session: s.caller.Session, Key: s.opening.Who.ID, Client: s.clientName(), Mode: v.choice.mode, List: v.cost.all(),
		Tools: v.shown.Count(catalog.Tools, eyes),
	}
	r.Why, r.WhyZH = v.choice.why.Both()
	r.warn(nil)
	if r.Mode == "" {
		r.Mode = s.mode()
	}
	if limits := limitsOf(r.Client); limits != nil {
		eyes.Fit = s.fit(mcp.Legacy)
		r.warn(limits.exceeded(v.shown, eyes))
	}
	s.tally.fill(&r)
	return r
}

// warn sets the warnings; a list without any is not null.
func (r *Receipt) warn(list []i18n.Text) {
	en, zh := i18n.Both(list)
	r.Warnings, r.WarningsZH = append([]string{}, en...), append([]string{}, zh...)
}

// Receipts returns the receipt of every schema that can be opened.
func (g *Gateway) Receipts() map[string]SchemaReceipt {
	all := make(map[string]SchemaReceipt)
	var own catalog.Cost
	if g.opt.Own != nil {
		own = setCost(g.opt.Own)
	}
	for _, name := range g.SchemaNames() {
		s, err := g.Open(Opening{Who: g.owner(), Schema: name, Stdio: g.opt.Greeting != nil})
		if err != nil {
			continue // it is being removed
		}
		r := SchemaReceipt{Receipt: s.receipt(), Own: own, Large: g.tallies.of(name).large.List(), Sessions: []Receipt{}, Keys: g.tallies.shownTo(name)}
		g.tallies.of(name).fill(&r.Receipt)
		v := s.look()
		best := choose(r.List, v.cost.tools(), v.cost.named(), 0)
		r.Advice.Mode = best.mode
		r.Advice.Why, r.Advice.WhyZH = best.why.Both()
		r.warn(limitWarnings(v, catalog.View{Fit: s.fit(mcp.Modern)}))
		all[name] = r
	}
	g.mu.Lock()
	var open []*Session
	for s := range g.sessions {
		open = append(open, s)
	}
	g.mu.Unlock()
	for _, s := range open {
		if r, ok := all[s.opening.Schema]; ok && s.opening.Server == "" {
			r.Sessions = append(r.Sessions, s.receipt())
			all[s.opening.Schema] = r
		}
	}
	return all
}

// bill logs what a session was shown, at its end. A request outside any session
// is one list or call: it counts for its key.
func (s *Session) bill() {
	if s.opening.Server != "" || s.tally.lists.Load() == 0 {
		return
	}
	level, limits := slog.LevelInfo, slog.LevelWarn
	if !s.opening.Session && !s.opening.Stdio {
		level, limits = slog.LevelDebug, slog.LevelDebug
	}
	ctx := context.Background()
	if !s.gw.log.Enabled(ctx, level) {
		return
	}
	r := s.receipt()
	s.gw.log.Log(ctx, level, "session receipt", "session", r.Session, "client", clip(r.Client), "mode", r.Mode, "lists", r.Lists,
		"shownTokens", r.Shown.Tokens, "inspections", r.Inspections, "inspectedTokens", r.Inspected.Tokens,
		"listFull", r.List.Full.Tokens, "listCompact", r.List.Compact.Tokens, "listSearch", r.List.Search.Tokens)
	for _, w := range r.Warnings {
		s.gw.log.Log(ctx, limits, "client limit", "session", r.Session, "warning", w)
	}
}

// costs are what a list of the tools costs in each mode, each worked out when
// it is first asked for.
type costs struct {
	full, compact, search, code func() catalog.Cost
	tools                       func() int
	named                       func() bool // compact mode names every tool
}

func (c costs) all() catalog.Receipt {
	return catalog.Receipt{Full: c.full(), Compact: c.compact(), Search: c.search(), Code: c.code()}
}

// in is what one list costs in a mode.
func (c costs) in(mode string) catalog.Cost {
	switch mode {
	case builtin.ModeCompact:
		return c.compact()
	case builtin.ModeSearch:
		return c.search()
	case builtin.ModeCode:
		return c.code()
	}
	return c.full()
}

// setCost is what a list of our own tools costs.
func setCost(set *builtin.Set) catalog.Cost {
	return catalog.CostOf(catalog.Merge([]catalog.Source{set.Source()}, catalog.Options{}).List(catalog.Tools, catalog.View{}))
}

// measure prepares the costs of a view: full is what full mode shows, all what
// the compact modes stand for.
func (s *Session) measure(full, all *catalog.Catalog) costs {
	eyes := catalog.View{Scope: s.scope, Visible: s.visible()}
	cfg := s.gw.config()
	small := func(mode string) func() catalog.Cost {
		return sync.OnceValue(func() catalog.Cost {
			return setCost(builtin.Compact(mode, all, eyes, cfg, s.hasCode(), s.reads()))
		})
	}
	return costs{
		full:    sync.OnceValue(func() catalog.Cost { return catalog.CostOf(full.List(catalog.Tools, eyes)) }),
		compact: small(builtin.ModeCompact), search: small(builtin.ModeSearch), code: small(builtin.ModeCode),
		tools: sync.OnceValue(func() int { return full.Count(catalog.Tools, eyes) }),
		named: sync.OnceValue(func() bool { return builtin.NamesAll(all, eyes) }),
	}
}
