package upstream

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/upstream/lists"
	"mcp-all-in-one/internal/upstream/pin"
)

// Withheld says whether a tool or a prompt may not be used, because it is no
// longer what was approved.
func (u *Upstream) Withheld(k catalog.Kind, name string) bool {
	return u.pins.Holds(k, name)
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
			l.refresh.Mark(lists.Tools | lists.Prompts)
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
