package upstream

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/pin"
)

// Withheld says whether a tool or a prompt may not be used, because it is no
// longer what was approved.
func (u *Upstream) Withheld(k catalog.Kind, name string) bool {
	return u.pins.Holds(k, name)
}

// pinned holds the items of a list against what is remembered of them.
func (u *Upstream) pinned(kind string, items []catalog.Item) ([]catalog.Item, []catalog.Issue) {
	items, issues, err := u.pins.Check(u.Config(), kind, items)
	if err != nil {
		u.log.Warn("remembering definitions", "kind", kind, "err", err)
	}
	return items, issues
}

// pinnedInstructions are the instructions of the server as far as they may be
// passed on.
func (u *Upstream) pinnedInstructions(text string) string {
	if text == "" {
		return ""
	}
	items, issues := u.pinned(pin.Instructions, []catalog.Item{{Key: pin.Instructions, Raw: jsonrpc.Quote(text)}})
	u.reportIssues(pin.Instructions, issues)
	if len(items) == 0 {
		return ""
	}
	return text
}

// repin fetches the lists again when they have to be checked anew.
func (u *Upstream) repin() {
	if !u.pins.Outdated(u.Config().Pin) {
		return
	}
	u.mu.Lock()
	slots := []*slot{u.primary}
	for _, s := range u.slots {
		slots = append(slots, s)
	}
	u.mu.Unlock()
	for _, s := range slots {
		if l := s.current(); l != nil {
			l.refresh.mark(kindTools | kindPrompts)
		}
	}
}

// Approve accepts what changed, as it was shown.
func (u *Upstream) Approve(shown []pin.Change) error {
	if len(shown) == 0 {
		return nil
	}
	if err := u.pins.Approve(shown); err != nil {
		return err
	}
	u.repin()
	return nil
}
