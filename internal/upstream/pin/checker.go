// Package pin remembers the definitions of tools and prompts and the instructions
// of servers, and reports those that differ from what was first seen or last
// approved.
package pin

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/i18n"
)

// The modes of a server's pin setting.
const (
	Off  = "off"
	Hold = "hold"
)

// The kinds of pinned definitions.
const (
	Tool         = "tool"
	Prompt       = "prompt"
	Instructions = "instructions"
)

// A Change is a tool, a prompt or the instructions of a server that differ from
// what was first seen or last approved, or that need approval before they are
// listed.
type Change struct {
	// Kind is tool, prompt or instructions.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// User is the user to whom the server shows the definition, if each user has
	// an account there; empty if it shows the same to all users.
	User string `json:"user,omitempty"`
	// Withheld says that it is not listed until it is approved.
	Withheld bool `json:"withheld"`
	// Fingerprint is the fingerprint of the new definition.
	Fingerprint string              `json:"fingerprint"`
	Changes     []definition.Change `json:"changes"`
	// Suspicious are the texts that give orders to the model.
	Suspicious []definition.Suspicion `json:"suspicious,omitempty"`
}

// A Lock decides which definitions servers may show.
type Lock interface {
	// Allows reports whether a definition is the locked one.
	Allows(s *config.Server, kind, name string, definition []byte) bool
}

// New returns a Checker for the server with the given id. pins and lock may be
// nil.
func New(pins *Store, id string, lock Lock) *Checker {
	return &Checker{pins: pins, id: id, lock: lock}
}

// Approve approves the changes that the user was shown.
func (p *Checker) Approve(shown []Change) error { return p.pins.Approve(p.id, shown) }

// A Checker checks the definitions of one server against its pins.
type Checker struct {
	pins *Store
	id   string
	user string // the user to whom they are shown; empty for all
	lock Lock

	mu      sync.Mutex
	users   map[string]*Checker
	kept    *pinFile // pins that could not be written; nil if the file has all of them
	read    pinStamp // the state of the file at the last check
	counted uint64   // pinFile.counts at the last check
	mode    string
	changed map[string][]Change // by kind
}

// For returns the checker for a user who has an account at the server. Its
// results say nothing about what the server shows to other users. If user is
// empty, it returns p.
func (p *Checker) For(user string) *Checker {
	if user == "" {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.users[user]
	if c == nil {
		c = &Checker{pins: p.pins, id: ofUser(p.id, user), user: user, lock: p.lock}
		if p.users == nil {
			p.users = make(map[string]*Checker)
		}
		p.users[user] = c
	}
	return c
}

// all returns the checkers of a server: p and those of the users.
func (p *Checker) all() []*Checker {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []*Checker{p}
	for _, user := range slices.Sorted(maps.Keys(p.users)) {
		list = append(list, p.users[user])
	}
	return list
}

// Check returns the items that may be listed, and the issues of those that
// changed or give orders to the model. New items are remembered and listed,
// unless they give orders and the mode is Hold.
func (p *Checker) Check(s *config.Server, kind string, items []catalog.Item) ([]catalog.Item, []catalog.Issue, error) {
	items, issues, err := p.check(kind, items, s.Pin)
	if p.lock == nil {
		return items, issues, err
	}
	var same []catalog.Item
	for _, item := range items {
		if p.lock.Allows(s, kind, item.Key, item.Raw) {
			same = append(same, item)
			continue
		}
		issues = append(issues, catalog.Issue{Item: item.Key, Detail: i18n.New("it differs from mcp.lock", "与 mcp.lock 中的不同"), Withheld: true})
	}
	return same, issues, err
}

func (p *Checker) check(kind string, items []catalog.Item, mode string) ([]catalog.Item, []catalog.Issue, error) {
	if p.pins == nil || mode == Off {
		p.mu.Lock()
		p.mode = mode
		delete(p.changed, kind)
		p.mu.Unlock()
		return items, nil, nil
	}
	suspicions := SuspicionsOf(items)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
	book := p.loadLocked()
	var doubt map[string][]definition.Suspicion
	if mode == Hold {
		doubt = suspicions
	}
	var err error
	if book.of(kind).learn(items, doubt, p.pins.docs != nil) {
		var kept *pinFile
		if p.kept != nil {
			kept = book
		}
		err = p.pins.learn(p.id, kind, items, doubt, kept)
		if p.kept = nil; err != nil {
			p.kept = book.clone()
		} else {
			book = p.pins.load(p.id)
		}
		p.read = p.pins.stamp(p.id)
	}
	if p.pins.docs != nil {
		p.counted = book.counts()
	}
	changed := book.of(kind).changes(kind, items, mode == Hold)
	for i := range changed {
		changed[i].User = p.user
	}
	if p.changed == nil {
		p.changed = make(map[string][]Change)
	}
	p.changed[kind] = changed
	var issues []catalog.Issue
	held := make(map[string]bool)
	for i := range changed {
		c := &changed[i]
		held[c.Name] = true
		issues = append(issues, catalog.Issue{Item: c.Name, Withheld: c.Withheld, Detail: c.text()})
	}
	if mode != Hold {
		return items, append(issues, Doubts(suspicions)...), err
	}
	if len(held) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(it catalog.Item) bool { return held[it.Key] })
	}
	return items, issues, err
}

// SuspicionsOf returns, by name, the texts of items that give orders to the
// model.
func SuspicionsOf(items []catalog.Item) map[string][]definition.Suspicion {
	found := make(map[string][]definition.Suspicion)
	for i := range items {
		if list := definition.Suspicions(items[i].Raw); list != nil {
			found[items[i].Key] = list
		}
	}
	return found
}

// Doubts returns the issues of items that give orders to the model.
func Doubts(suspicions map[string][]definition.Suspicion) (issues []catalog.Issue) {
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

// loadLocked returns the pins. It reads the file each time, because the pins are
// as large as all definitions and lists seldom change.
func (p *Checker) loadLocked() *pinFile {
	now := p.pins.stamp(p.id)
	if p.kept != nil && now == p.read {
		return p.kept
	}
	p.kept, p.read = nil, now
	return p.pins.load(p.id)
}

// Outdated reports whether the items must be checked again, because a change was
// approved or the mode changed.
func (p *Checker) Outdated(mode string) bool {
	return p.pins != nil && slices.ContainsFunc(p.all(), func(c *Checker) bool { return c.outdated(mode) })
}

func (p *Checker) outdated(mode string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == "" || p.mode == mode && (mode == Off || p.pins.stamp(p.id) == p.read) {
		return false
	}
	// Another replica may be shown other definitions and write them again and
	// again, so only the approved definitions are compared.
	return p.pins.docs == nil || p.mode != mode || p.pins.load(p.id).counts() != p.counted
}

// List returns the changes for all users.
func (p *Checker) List() (list []Change) {
	for _, c := range p.all() {
		c.mu.Lock()
		list = slices.Concat(list, c.changed[Tool], c.changed[Prompt], c.changed[Instructions])
		c.mu.Unlock()
	}
	return list
}

// Holds reports whether a tool or a prompt is withheld.
func (p *Checker) Holds(k catalog.Kind, name string) bool {
	var kind string
	switch k {
	case catalog.Tools:
		kind = Tool
	case catalog.Prompts:
		kind = Prompt
	default:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.changed[kind], func(c Change) bool { return c.Withheld && c.Name == name })
}

// text describes the change in one line.
func (c *Change) text() i18n.Text {
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

// sameDefinition reports whether two definitions have the same meaning.
func sameDefinition(a, b []byte) bool {
	return bytes.Equal(a, b) || definition.Fingerprint(a) == definition.Fingerprint(b)
}
