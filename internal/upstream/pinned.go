package upstream

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/upstream/pin"
)

// Withheld says whether a tool or a prompt may not be used, because it is no
// longer what was approved.
func (u *Upstream) Withheld(k catalog.Kind, name string) bool {
	switch k {
	case catalog.Tools:
		return u.pins.Holds(pin.Tool, name)
	case catalog.Prompts:
		return u.pins.Holds(pin.Prompt, name)
	}
	return false
}

// pinned holds the items of a list against what is remembered of them.
func (u *Upstream) pinned(kind string, items []catalog.Item) ([]catalog.Item, []catalog.Issue) {
	items, issues, err := u.pins.Check(kind, items, u.Config().Pin)
	if err != nil {
		u.log.Warn("remembering definitions", "kind", kind, "err", err)
	}
	return u.lockedOnly(kind, items, issues)
}

// lockedOnly withholds the items that are not as they were locked.
func (u *Upstream) lockedOnly(kind string, items []catalog.Item, issues []catalog.Issue) ([]catalog.Item, []catalog.Issue) {
	if u.opt.Lock == nil {
		return items, issues
	}
	var same []catalog.Item
	for _, item := range items {
		if u.opt.Lock.Allows(u.Config(), kind, item.Key, definition.Fingerprint(item.Raw)) {
			same = append(same, item)
			continue
		}
		issues = append(issues, catalog.Issue{Item: item.Key, Detail: i18n.New("it is not the one in mcp.lock", "与 mcp.lock 中的不同"), Withheld: true})
	}
	return same, issues
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
