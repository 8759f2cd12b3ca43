package upstream

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// The values of a server's pin.
const (
	pinOff  = "off"
	pinHold = "hold"
)

// What is pinned.
const (
	pinTool         = "tool"
	pinPrompt       = "prompt"
	pinInstructions = "instructions"
)

// A DefinitionChange is a tool, a prompt or the instructions of a server that
// are no longer what was first seen, or last approved, or that are not to be
// listed unseen.
type DefinitionChange struct {
	// Kind is tool, prompt or instructions.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Withheld says that it is not listed until somebody approves it.
	Withheld bool `json:"withheld"`
	// Fingerprint is the new definition's.
	Fingerprint string              `json:"fingerprint"`
	Changes     []definition.Change `json:"changes"`
	// Suspicious are its texts that give orders to the model.
	Suspicious []definition.Suspicion `json:"suspicious,omitempty"`
}

// A pinner holds the definitions of one server against what is remembered of
// them.
type pinner struct {
	pins *Pins
	id   string

	mu      sync.Mutex
	kept    *pinFile // what no disk keeps; nil while the file has it all
	read    pinStamp // the state of the file that was checked against
	mode    string
	changed map[string][]DefinitionChange // by kind
}

// check returns the items that may be listed, and what is to be said about
// those that changed or give orders. What is new is remembered and listed,
// unless it gives orders and mode is hold.
func (p *pinner) check(kind string, items []catalog.Item, mode string) ([]catalog.Item, []catalog.Issue, error) {
	if p.pins == nil || mode == pinOff {
		p.mu.Lock()
		p.mode = mode
		delete(p.changed, kind)
		p.mu.Unlock()
		return items, nil, nil
	}
	suspicions := suspicionsOf(items)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	book := p.loadLocked()
	var doubt map[string][]definition.Suspicion
	if mode == pinHold {
		doubt = suspicions
	}
	var err error
	if book.of(kind).learn(items, doubt) {
		next := book
		err = p.pins.update(p.id, func(f *pinFile) {
			if p.kept != nil {
				*f = *book // the file is as it was when that could not be written
				return
			}
			f.of(kind).learn(items, doubt)
			next = f
		})
		if p.kept = nil; err != nil {
			p.kept = book.clone()
		} else {
			book = next
		}
		p.read = p.pins.stamp(p.id)
	}
	changed := book.of(kind).changes(kind, items, mode == pinHold)
	if p.changed == nil {
		p.changed = make(map[string][]DefinitionChange)
	}
	p.changed[kind] = changed
	var issues []catalog.Issue
	held := make(map[string]bool)
	for i := range changed {
		c := &changed[i]
		held[c.Name] = true
		issues = append(issues, catalog.Issue{Item: c.Name, Withheld: c.Withheld, Detail: c.text()})
	}
	if mode != pinHold {
		return items, append(issues, doubts(suspicions)...), err
	}
	if len(held) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(it catalog.Item) bool { return held[it.Key] })
	}
	return items, issues, err
}

// suspicionsOf are the items that give orders to the model, by their names.
func suspicionsOf(items []catalog.Item) map[string][]definition.Suspicion {
	found := make(map[string][]definition.Suspicion)
	for i := range items {
		if list := definition.Suspicions(items[i].Raw); list != nil {
			found[items[i].Key] = list
		}
	}
	return found
}

func doubts(suspicions map[string][]definition.Suspicion) (issues []catalog.Issue) {
	for _, name := range slices.Sorted(maps.Keys(suspicions)) {
		issues = append(issues, catalog.Issue{Item: name, Detail: givesOrders(suspicions[name])})
	}
	return issues
}

func givesOrders(list []definition.Suspicion) i18n.Text {
	text := i18n.New("it gives orders to the model: %v", "它向模型下达指令：%v", list[0])
	if n := len(list) - 1; n > 0 {
		text = andMore(text, n)
	}
	return text
}

func andMore(text i18n.Text, n int) i18n.Text {
	return i18n.New("%v; and %d more", "%v；另有 %d 处", text, n)
}

// loadLocked is what is remembered. It is read anew each time: it is as large as
// all definitions, and lists seldom change.
func (p *pinner) loadLocked() *pinFile {
	now := p.pins.stamp(p.id)
	if p.kept != nil && now == p.read {
		return p.kept
	}
	p.kept, p.read = nil, now
	return p.pins.load(p.id)
}

// outdated says that what was last checked has to be checked again: somebody
// approved something, or the configuration says otherwise.
func (p *pinner) outdated(mode string) bool {
	if p.pins == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode != "" && (p.mode != mode || mode != pinOff && p.pins.stamp(p.id) != p.read)
}

func (p *pinner) list() []DefinitionChange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.changed[pinTool], p.changed[pinPrompt], p.changed[pinInstructions])
}

// holds says whether an item is held back.
func (p *pinner) holds(kind, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.changed[kind], func(c DefinitionChange) bool { return c.Withheld && c.Name == name })
}

// Withheld says whether a tool or a prompt may not be used, because it is no
// longer what was approved.
func (u *Upstream) Withheld(k catalog.Kind, name string) bool {
	switch k {
	case catalog.Tools:
		return u.pins.holds(pinTool, name)
	case catalog.Prompts:
		return u.pins.holds(pinPrompt, name)
	}
	return false
}

// text says in one line what changed.
func (c *DefinitionChange) text() i18n.Text {
	text := i18n.New("its definition changed", "它的定义发生了变化")
	if c.Suspicious != nil {
		text = givesOrders(c.Suspicious)
	}
	if c.Withheld {
		text = i18n.New("%v, so it is withheld until it is approved", "%v，批准之前不会列出", text)
	}
	for i, change := range c.Changes {
		if i == 3 {
			return andMore(text, len(c.Changes)-i)
		}
		text = i18n.New("%v; %s was %v, is %v", "%v；%s 原为 %v，现为 %v", text, change.Path, orNothing(change.Was), orNothing(change.Now))
	}
	return text
}

func orNothing(s string) i18n.Text {
	if s == "" {
		return i18n.New("absent", "空")
	}
	return i18n.Plain(s)
}

// pinned holds the items of a list against what is remembered of them.
func (u *Upstream) pinned(kind string, items []catalog.Item) ([]catalog.Item, []catalog.Issue) {
	items, issues, err := u.pins.check(kind, items, u.server().Pin)
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
		if u.opt.Lock.Allows(u.server(), kind, item.Key, definition.Fingerprint(item.Raw)) {
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
	items, issues := u.pinned(pinInstructions, []catalog.Item{{Key: pinInstructions, Raw: jsonrpc.Quote(text)}})
	u.reportIssues(pinInstructions, issues)
	if len(items) == 0 {
		return ""
	}
	return text
}

// repin fetches the lists again when they have to be checked anew.
func (u *Upstream) repin() {
	if !u.pins.outdated(u.server().Pin) {
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
func (u *Upstream) Approve(shown []DefinitionChange) error {
	if len(shown) == 0 {
		return nil
	}
	if err := u.opt.Pins.Approve(u.pins.id, shown); err != nil {
		return err
	}
	u.repin()
	return nil
}

// sameDefinition says whether two definitions mean the same.
func sameDefinition(a, b []byte) bool {
	return bytes.Equal(a, b) || definition.Fingerprint(a) == definition.Fingerprint(b)
}
