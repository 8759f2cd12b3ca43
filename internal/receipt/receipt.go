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
	Key     string `json:"key,omitempty"`  // the principal of the session
	Name    string `json:"name,omitempty"` // of the key, for display
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
	Large []kept.Large `json:"large"`
	// Direct is how many of the recorded calls clients made themselves, Followed
	// how many of these were followed by another call of the same tool.
	Direct   int `json:"direct"`
	Followed int `json:"followed"`
	// Runs says that clients are shown run.
	Runs     bool      `json:"runs"`
	Sessions []Receipt `json:"sessions"`
	// Keys are those that were used last, with what each was shown and saved.
	Keys []Receipt `json:"keys"`
}

// Advice is a mode, and why.
type Advice struct {
	Mode  string `json:"mode"`
	Why   string `json:"why"`
	WhyZH string `json:"whyZH"`
}

// Scripted says whether scripts would have saved turns: most calls were followed
// by another call of the same tool, and there are enough of them to say so.
func (s *Schema) Scripted() bool { return s.Direct >= 10 && 2*s.Followed >= s.Direct }

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
	keys map[string][]*keyed
}

// A keyed has the counts of a key, and what the key was shown last.
type keyed struct {
	Tally
	shown Receipt
}

// Of returns the counts of a schema.
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

// Key returns the counts of a key in a schema, and notes the name of the key.
func (t *Tallies) Key(schema, key, name string) *Tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.key(schema, key)
	one.shown.Name = name
	return &one.Tally
}

// key finds or adds a key. The one that was used last is the last of the list.
func (t *Tallies) key(schema, key string) *keyed {
	list := t.keys[schema]
	var one *keyed
	if i := slices.IndexFunc(list, func(k *keyed) bool { return k.shown.Key == key }); i >= 0 {
		one = list[i]
		list = slices.Delete(list, i, i+1)
	} else {
		one = &keyed{shown: Receipt{Key: key}}
		one.shown.Warn(nil)
	}
	if len(list) == maxKeyReceipts {
		list = slices.Delete(list, 0, 1)
	}
	if t.keys == nil {
		t.keys = make(map[string][]*keyed)
	}
	t.keys[schema] = append(list, one)
	return one
}

// Shown keeps what a key was shown. It says whether that is something else than
// before.
func (t *Tallies) Shown(schema string, r Receipt) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.key(schema, r.Key)
	changed := one.shown.Mode != r.Mode
	one.shown = r
	return changed
}

// ShownTo are the receipts of the keys of a schema.
func (t *Tallies) ShownTo(schema string) []Receipt {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []Receipt{}
	for _, k := range t.keys[schema] {
		r := k.shown
		k.Fill(&r)
		all = append(all, r)
	}
	return all
}
