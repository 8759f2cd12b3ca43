package gateway

import (
	"slices"

	"mcp-all-in-one/internal/catalog"
)

// maxKeyReceipts bounds the receipts that are kept of the keys of a schema.
const maxKeyReceipts = 100

// showedKey notes what a key was shown. Requests outside any session have
// nothing else that could say it, nor why the mode was chosen.
func (s *Session) showedKey(v *view, cost catalog.Cost) {
	r := Receipt{Key: s.opening.Who.ID, Mode: v.mode, Tools: v.cost.tools()}
	r.Why, r.WhyZH = v.choice.why.Both()
	r.warn(nil)
	if v.choice.mode != "" {
		r.List = v.cost.all() // worked out for the choice already
	}
	if s.gw.tallies.shown(s.opening.Schema, r, cost) && r.Why != "" && !s.opening.Session {
		s.gw.log.Info("mode chosen", "schema", s.opening.Schema, "key", r.Key, "mode", r.Mode, "why", r.Why)
	}
}

// shown keeps the receipt of a key, the latest last. It says whether the key
// is shown something else than before.
func (t *tallies) shown(schema string, r Receipt, cost catalog.Cost) bool {
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
	r.Shown.Bytes += cost.Bytes
	r.Shown.Tokens += cost.Tokens
	if t.keys == nil {
		t.keys = make(map[string][]Receipt)
	}
	t.keys[schema] = append(list, r)
	return changed
}

// shownTo are the receipts of the keys of a schema.
func (t *tallies) shownTo(schema string) []Receipt {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Receipt{}, t.keys[schema]...)
}
