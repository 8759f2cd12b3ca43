// Package receipt counts what clients were shown of their tools, and what that
// cost them.
package receipt

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/kept"
)

// A Receipt counts the tools and results that clients were shown, their cost in
// tokens, and the cost in other modes. Tokens are estimates.
type Receipt struct {
	Session string `json:"session,omitempty"`
	Key     string `json:"key,omitempty"` // the principal of the session
	Client  string `json:"client,omitempty"`
	Mode    string `json:"mode"`
	Why     string `json:"why,omitempty"` // of a mode that was chosen
	WhyZH   string `json:"whyZH,omitempty"`
	Tools   int    `json:"tools"`
	// Lists counts the lists of tools that were sent, Shown is their cost.
	Lists int64        `json:"lists"`
	Shown catalog.Cost `json:"shown"`
	// Inspections counts the lookups of tools in the compact modes, Inspected is
	// the cost of the answers.
	Inspections int64        `json:"inspections"`
	Inspected   catalog.Cost `json:"inspected"`
	// Scripts counts the scripts that ran, Calls the calls that they made.
	// Returned is the cost of the scripts' results, Inner the cost that the
	// results of the calls would have had.
	Scripts  int64        `json:"scripts"`
	Calls    int64        `json:"calls"`
	Returned catalog.Cost `json:"returned"`
	Inner    catalog.Cost `json:"inner"`
	// Cut counts the results that were shown in part, Kept is the cost of the rest.
	Cut  int64        `json:"cut"`
	Kept catalog.Cost `json:"kept"`
	// Reads counts the reads of kept results, ReadBack is their cost.
	Reads    int64        `json:"reads"`
	ReadBack catalog.Cost `json:"readBack"`
	// List is the cost of one list of the tools in each mode.
	List catalog.Receipt `json:"list"`
	// Warnings say what known clients cannot take of it.
	Warnings   []string `json:"warnings"`
	WarningsZH []string `json:"warningsZH"`
}

// A Schema is the receipt of a schema since the start, with those of
// the sessions that are open.
type Schema struct {
	Receipt
	// Advice is the mode that auto would choose.
	Advice Advice `json:"advice"`
	// Own is the cost of our own tools in a full list of a client that may change
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

// A Tally counts what clients were shown.
type Tally struct {
	lists, shownBytes, shownTokens       atomic.Int64
	inspections, foundBytes, foundTokens atomic.Int64
	saved                                savings
	Large                                kept.LargeCounts // results that clients do not show whole
}

// List counts a list of the tools.
func (t *Tally) List(c catalog.Cost) {
	t.lists.Add(1)
	t.shownBytes.Add(int64(c.Bytes))
	t.shownTokens.Add(int64(c.Tokens))
}

// Inspect counts a look at a tool.
func (t *Tally) Inspect(c catalog.Cost) {
	t.inspections.Add(1)
	t.foundBytes.Add(int64(c.Bytes))
	t.foundTokens.Add(int64(c.Tokens))
}

// Listed is how often the tools were listed.
func (t *Tally) Listed() int64 { return t.lists.Load() }

// Script counts a script: its calls, what their results would have cost, and
// what was shown of it.
func (t *Tally) Script(calls int, inner, shown catalog.Cost) { t.saved.script(calls, inner, shown) }

// Cut counts a result that was shown in part.
func (t *Tally) Cut(left catalog.Cost) { t.saved.result(left) }

// Read counts a part of a kept result that was read.
func (t *Tally) Read(shown catalog.Cost) { t.saved.read(shown) }

// Fill writes the counts into a receipt.
func (t *Tally) Fill(r *Receipt) {
	r.Lists, r.Inspections = t.lists.Load(), t.inspections.Load()
	r.Shown = catalog.Cost{Bytes: int(t.shownBytes.Load()), Tokens: int(t.shownTokens.Load())}
	r.Inspected = catalog.Cost{Bytes: int(t.foundBytes.Load()), Tokens: int(t.foundTokens.Load())}
	t.saved.fill(r)
}

// Tallies are the counts by schema, and by key within a schema.
type Tallies struct {
	mu   sync.Mutex
	by   map[string]*Tally
	keys map[string][]Receipt
}

// Of is the tally of a schema.
func (t *Tallies) Of(schema string) *Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.by[schema]
	if one == nil {
		if t.by == nil {
			t.by = make(map[string]*Tally)
		}
		one = &Tally{}
		t.by[schema] = one
	}
	return one
}

// Warn sets the warnings; a list without any is not null.
func (r *Receipt) Warn(list []i18n.Text) {
	en, zh := i18n.Both(list)
	r.Warnings, r.WarningsZH = append([]string{}, en...), append([]string{}, zh...)
}

// Log writes the receipt of a session to a log. Its warnings have a level of
// their own.
func (r Receipt) Log(log *slog.Logger, level, warning slog.Level) {
	ctx := context.Background()
	log.Log(ctx, level, "session receipt", "session", r.Session, "client", r.Client, "mode", r.Mode, "lists", r.Lists,
		"shownTokens", r.Shown.Tokens, "inspections", r.Inspections, "inspectedTokens", r.Inspected.Tokens,
		"listFull", r.List.Full.Tokens, "listCompact", r.List.Compact.Tokens, "listSearch", r.List.Search.Tokens,
		"scripts", r.Scripts, "scriptCalls", r.Calls, "returnedTokens", r.Returned.Tokens, "innerTokens", r.Inner.Tokens,
		"cut", r.Cut, "keptTokens", r.Kept.Tokens, "reads", r.Reads, "readBackTokens", r.ReadBack.Tokens)
	for _, w := range r.Warnings {
		log.Log(ctx, warning, "client limit", "session", r.Session, "warning", w)
	}
}

// maxKeyReceipts bounds the receipts that are kept of the keys of a schema.
const maxKeyReceipts = 100

// Shown keeps the receipt of a key, the latest last. It says whether the key
// is shown something else than before.
func (t *Tallies) Shown(schema string, r Receipt, cost catalog.Cost) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := t.keys[schema]
	changed := true
	if i := slices.IndexFunc(list, func(old Receipt) bool { return old.Key == r.Key }); i >= 0 {
		r.Lists, r.Shown = list[i].Lists, list[i].Shown
		changed = list[i].Mode != r.Mode
		list = slices.Delete(list, i, i+1)
	} else if len(list) == maxKeyReceipts {
		list = slices.Delete(list, 0, 1)
	}
	r.Lists++
	r.Shown = r.Shown.Plus(cost)
	if t.keys == nil {
		t.keys = make(map[string][]Receipt)
	}
	t.keys[schema] = append(list, r)
	return changed
}

// ShownTo are the receipts of the keys of a schema.
func (t *Tallies) ShownTo(schema string) []Receipt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Receipt{}, t.keys[schema]...)
}
