package gateway

import (
	"cmp"
	"context"
	"log/slog"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/receipt"
)

// An account counts the tools that a session was shown, and their cost.
type account struct {
	*viewer
	tally receipt.Tally
}

// showed counts a tool list that the session was shown.
func (a *account) showed(v *view.View) {
	if a.opening.Server != "" {
		return
	}
	cost := v.Cost.In(v.Mode)
	a.count(func(t *receipt.Tally) { t.List(cost) })
	if a.opening.Who.ID != "" {
		a.showedKey(v)
	}
}

// count counts something for the session, its schema and its key.
func (a *account) count(one func(*receipt.Tally)) {
	one(&a.tally)
	one(a.gw.tallies.Of(a.opening.Schema))
	if who := &a.opening.Who; who.ID != "" {
		one(a.gw.tallies.Key(a.opening.Schema, who.ID, who.Name))
	}
}

// inspected counts the result of one of the gateway's own tools.
func (a *account) inspected(tool string, result []byte) {
	if tool != "inspect" {
		return
	}
	cost := catalog.CostOf(result)
	a.count(func(t *receipt.Tally) { t.Inspect(cost) })
}

// receipt returns the account so far.
func (a *account) receipt() receipt.Receipt {
	v := a.look()
	eyes := catalog.View{Scope: a.scope, Visible: a.visible()}
	r := receipt.Receipt{
		Session: a.caller.Session, Key: a.opening.Who.ID, Client: a.clientName(), Mode: v.Choice.Mode, List: v.Cost.All(),
		Tools: v.Shown.Count(catalog.Tools, eyes),
	}
	r.Why, r.WhyZH = v.Choice.Why.Both()
	r.Warn(nil)
	if r.Mode == "" {
		r.Mode = cmp.Or(a.mode(), builtin.ModeFull) // a schema that is only implied has none
	}
	if limits := receipt.LimitOf(r.Client); limits != nil {
		eyes.Fit = a.fit(mcp.Legacy)
		r.Warn(limits.Exceeded(v.Shown, eyes))
	}
	a.tally.Fill(&r)
	return r
}

// Receipts returns the receipt of every schema that can be opened, without the calls of
// the record.
func (g *Gateway) Receipts() map[string]receipt.Schema {
	all := make(map[string]receipt.Schema)
	var own catalog.Cost
	if g.opt.Own != nil {
		own = view.CostOf(g.opt.Own)
	}
	for _, name := range g.SchemaNames() {
		s, err := g.Open(Opening{Who: g.owner(), Schema: name, Stdio: g.opt.Greeting != nil})
		if err != nil {
			continue // it is being removed
		}
		r := receipt.Schema{Receipt: s.account.receipt(), Own: own, Large: g.tallies.Of(name).Large.List(), Sessions: []receipt.Receipt{}, Keys: g.tallies.ShownTo(name)}
		r.Runs = s.runs()
		g.tallies.Of(name).Fill(&r.Receipt)
		v := s.look()
		best := view.Choose(r.List, v.Cost.Tools(), v.Cost.Named(), 0)
		r.Advice.Mode = best.Mode
		r.Advice.Why, r.Advice.WhyZH = best.Why.Both()
		r.Warn(receipt.Warnings(v.Shown, catalog.View{Fit: s.fit(mcp.Modern)}))
		all[name] = r
	}
	for _, s := range g.connected() {
		if r, ok := all[s.opening.Schema]; ok && s.opening.Server == "" {
			r.Sessions = append(r.Sessions, s.account.receipt())
			all[s.opening.Schema] = r
		}
	}
	return all
}

// bill logs the account at the end of a session. A request outside any session
// counts for its key.
func (a *account) bill() {
	if a.opening.Server != "" || a.tally.Listed() == 0 {
		return
	}
	level, limits := slog.LevelInfo, slog.LevelWarn
	if !a.opening.Session && !a.opening.Stdio {
		level, limits = slog.LevelDebug, slog.LevelDebug
	}
	if a.gw.log.Enabled(context.Background(), level) {
		r := a.receipt()
		r.Client = refusal.Clip(r.Client)
		r.Log(a.gw.log, level, limits)
	}
}

// showedKey records what a key was shown, and why the mode was chosen. Requests
// outside any session have no other place for it.
func (a *account) showedKey(v *view.View) {
	r := receipt.Receipt{Key: a.opening.Who.ID, Name: a.opening.Who.Name, Mode: v.Mode, Tools: v.Cost.Tools()}
	r.Why, r.WhyZH = v.Choice.Why.Both()
	r.Warn(nil)
	if v.Choice.Mode != "" {
		r.List = v.Cost.All() // computed for the choice of the mode
	}
	if a.gw.tallies.Shown(a.opening.Schema, r) && r.Why != "" && !a.opening.Session {
		a.gw.log.Info("mode chosen", "schema", a.opening.Schema, "key", r.Key, "mode", r.Mode, "why", r.Why)
	}
}

// saved counts the tokens that a script kept out of the context.
func (a *account) saved(calls int, inner, shown catalog.Cost) {
	a.count(func(t *receipt.Tally) { t.Script(calls, inner, shown) })
}

// readBack counts a part of a kept result that the client read.
func (a *account) readBack(result []byte) {
	cost := catalog.CostOf(result)
	a.count(func(t *receipt.Tally) { t.Read(cost) })
}

// Fits reports how well the tools of a schema suit each known client.
func (g *Gateway) Fits(schema string) []receipt.Fit {
	s, err := g.Open(Opening{Who: g.owner(), Schema: schema, Stdio: g.opt.Greeting != nil})
	if err != nil {
		return []receipt.Fit{}
	}
	return receipt.Fits(s.look().Shown)
}
