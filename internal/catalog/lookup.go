package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// entry is one listed item.
type entry struct {
	source int32
	item   *Item
	name   string // the server's own name, or the configured replacement
	listed string
	// beside is the tool name that follows the server's name; empty for the
	// server's own tool name.
	beside string
	// made matches the URIs that a template expands to; nil for anything but
	// templates.
	made *pattern
}

// ownKey identifies an entry by its server and the server's own name for it.
type ownKey struct {
	source int32
	name   string
}

// table is one of the four lists with its indexes.
type table struct {
	order  []*entry
	listed map[string]*entry
	own    map[ownKey]*entry
	// renamed indexes entries by the configured names that they are shown under
	// beside the name of their server.
	renamed map[ownKey]*entry
	// plain indexes names of exactly one entry, shared those of several
	// entries.
	plain  map[string]*entry
	shared map[string][]*entry
	// aliased reports that some URI is listed under an alias.
	aliased bool
}

// Ref is the server and the own name that a listed name refers to.
type Ref struct {
	// Server is the configured name; Name is the server's own.
	Server, Name string
	// Item is nil for a resource that no server lists.
	Item *Item
	// Listed is the name or URI that clients see.
	Listed string
	// Beside is the name that follows the server's name for clients: Name, or
	// the configured replacement.
	Beside string
}

// MissKind is the reason why a name was not found.
type MissKind uint8

const (
	// Unknown means that no server has the name.
	Unknown MissKind = iota
	// Ambiguous means that several servers have the plain name.
	Ambiguous
	// ServerDown means that the server of the name has not listed its features.
	ServerDown
)

// Miss describes a name that was not found.
type Miss struct {
	Kind MissKind
	// Candidates are the listed names for an ambiguous name; for an unknown
	// resource, the servers to ask for it, in order.
	Candidates []string
	// Server is the server that the name refers to; State is its state.
	Server, State string
}

// Visible reports whether a caller may see an item, given the configured name
// of its server and the server's own name for it. Nil means everything.
type Visible func(server, name string) bool

// ToolFor finds a tool that the caller may see by any name that a client may
// use: the listed name, service__tool, the older service##tool, service-tool and
// service.tool, or the plain name if only one server has it.
func (d *directory) ToolFor(name string, may Visible) (Ref, *Miss) {
	return d.find(d.tools(), name, may)
}

// PromptFor finds a prompt in the same way as ToolFor.
func (d *directory) PromptFor(name string, may Visible) (Ref, *Miss) {
	return d.find(&d.prompts, name, may)
}

// ToolOf finds a tool by its server and the name beside it: the configured one,
// or the server's own.
func (d *directory) ToolOf(server, name string, may Visible) (Ref, *Miss) {
	i, ok := d.servers[server]
	if !ok {
		return Ref{}, &Miss{Kind: Unknown}
	}
	t := d.tools()
	for _, e := range []*entry{t.renamed[ownKey{i, name}], t.own[ownKey{i, name}]} {
		if d.sees(e, may) {
			return d.ref(e), nil
		}
	}
	miss := &Miss{Kind: Unknown, Server: d.sources[i].Server, State: d.sources[i].State}
	if d.sources[i].Features == nil {
		miss.Kind = ServerDown
	}
	return Ref{}, miss
}

// nameTable lists the tools or prompts of all servers.
func (n *namespace) nameTable(k Kind) table {
	count := 0
	for i := range n.sources {
		count += len(n.sources[i].Features.items(k))
	}
	t := table{
		order:  make([]*entry, 0, count),
		listed: make(map[string]*entry, count),
		own:    make(map[ownKey]*entry, count),
		plain:  make(map[string]*entry),
		shared: make(map[string][]*entry),
	}
	entries := make([]entry, 0, count)
	for i := range n.sources {
		rules := n.sources[i].Policy.rules(k)
		items := n.sources[i].Features.items(k)
		for j := range items {
			item := &items[j]
			if !rules.lists(item.Key) {
				continue
			}
			if arguments := rules.Items[item.Key].Arguments; len(arguments) > 0 && k == Tools {
				item = narrowed(item, arguments)
			}
			entries = append(entries, entry{source: int32(i), item: item, name: item.Key})
			e := &entries[len(entries)-1]
			if to := rules.Items[item.Key].Rename; to != "" {
				e.name = to
			}
			t.order = append(t.order, e)
		}
	}
	n.assignNames(t.order)
	for _, e := range t.order {
		t.listed[e.listed] = e
		t.own[ownKey{e.source, e.item.Key}] = e
	}
	for _, e := range t.order {
		if _, taken := t.own[ownKey{e.source, e.name}]; !taken {
			t.own[ownKey{e.source, e.name}] = e
		}
		t.addPlain(e.item.Key, e)
		t.addPlain(e.name, e)
		t.addPlain(n.wishedName(e), e)
	}
	t.nameBeside()
	return t
}

// nameBeside gives the renamed entries their names beside the server's. A name
// that another item of the server has and keeps is not given away.
func (t *table) nameBeside() {
	t.renamed = make(map[ownKey]*entry)
	give := func(e *entry, name string) {
		e.beside, t.renamed[ownKey{e.source, name}] = name, e
	}
	var left []*entry
	for _, e := range t.order {
		if e.name == e.item.Key {
			continue
		}
		key := ownKey{e.source, e.name}
		if holder := t.own[key]; t.renamed[key] != nil || holder.item.Key == e.name && holder.name == e.name {
			left = append(left, e)
			continue
		}
		give(e, e.name)
	}
	for _, e := range left {
		if t.renamed[ownKey{e.source, e.item.Key}] != nil {
			give(e, e.listed) // its own name is another's now
		}
	}
}

// addPlain indexes e under a name other than its listed one.
func (t *table) addPlain(name string, e *entry) {
	if name == e.listed {
		return
	}
	if other, taken := t.plain[name]; !taken {
		t.plain[name] = e
	} else if other != e {
		group := t.shared[name]
		if group == nil {
			group = []*entry{other}
		}
		if !slices.Contains(group, e) {
			t.shared[name] = append(group, e)
		}
	}
}

func (n *namespace) ref(e *entry) Ref {
	return Ref{Server: n.sources[e.source].Server, Name: e.item.Key, Item: e.item, Listed: e.listed, Beside: cmp.Or(e.beside, e.item.Key)}
}

func (n *namespace) sees(e *entry, may Visible) bool {
	return e != nil && (may == nil || may(n.sources[e.source].Server, e.item.Key))
}

func (n *namespace) find(t *table, name string, may Visible) (Ref, *Miss) {
	if e := t.listed[name]; n.sees(e, may) {
		return n.ref(e), nil
	}
	for i, own := range n.readings(name) {
		if e := t.own[ownKey{i, own}]; n.sees(e, may) {
			return n.ref(e), nil
		}
	}
	if group := t.shared[name]; group != nil {
		return n.among(group, name, may)
	}
	if e := t.plain[name]; n.sees(e, may) {
		return n.ref(e), nil
	}
	return Ref{}, n.pointed(name, may)
}

// among returns the only one of several entries that the caller may see.
func (n *namespace) among(group []*entry, name string, may Visible) (Ref, *Miss) {
	miss := &Miss{Kind: Ambiguous}
	var last *entry
	for _, e := range group {
		if n.sees(e, may) {
			miss.Candidates = append(miss.Candidates, e.listed)
			last = e
		}
	}
	switch len(miss.Candidates) {
	case 0:
		return Ref{}, n.pointed(name, may)
	case 1:
		return n.ref(last), nil
	}
	return Ref{}, miss
}

// separators are the separators between a service and its tool, newest first.
var separators = [...]string{separator, "##", "-", "."}

// splits yields the positions of sep in name, last first, so that the longest
// service is tried first.
func splits(name, sep string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		end := len(name)
		for {
			at := strings.LastIndex(name[:end], sep)
			if at <= 0 || (at+len(sep) < len(name) && !yield(at)) {
				return
			}
			end = at + len(sep) - 1
		}
	}
}

// pointed returns the miss for a name. It includes the server that the name
// begins with, and whether that server is down.
func (n *namespace) pointed(name string, may Visible) *Miss {
	miss := &Miss{Kind: Unknown}
	for i, own := range n.readings(name) {
		src := &n.sources[i]
		if may != nil && !may(src.Server, own) {
			continue
		}
		if src.Features == nil {
			return &Miss{Kind: ServerDown, Server: src.Server, State: src.State}
		}
		if miss.Server == "" {
			miss.Server, miss.State = src.Server, src.State
		}
	}
	return miss
}

// readings yields the servers that a name may begin with, and the rest of the
// name: first the server whose label ends at the first separator, then longer
// names first. If the server of that label has not listed its tools, readings
// yields no other server: the meaning of a name must not depend on which
// servers are up.
func (n *namespace) readings(name string) iter.Seq2[int32, string] {
	return func(yield func(int32, string) bool) {
		if label, own, _ := strings.Cut(name, separator); own != "" {
			i, known := n.servers[label]
			if known && n.labels[i] == label && (!yield(i, own) || n.sources[i].Features == nil) {
				return
			}
		}
		for _, sep := range separators {
			for at := range splits(name, sep) {
				if i, known := n.servers[name[:at]]; known && !yield(i, name[at+len(sep):]) {
					return
				}
			}
		}
	}
}
