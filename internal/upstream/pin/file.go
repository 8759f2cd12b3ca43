package pin

import (
	"bytes"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/jsonrpc"
)

// A pinFile holds the pins of one server by kind. It is read and written without
// decoding the definitions, because every start reads the definitions of all
// servers.
type pinFile struct {
	server string
	books  map[string]pinBook
}

// pinKinds are the kinds in the order of the file.
var pinKinds = []string{Tool, Prompt, Instructions}

// pinMember maps a kind to its member in the file.
var pinMember = map[string]string{Tool: "tools", Prompt: "prompts", Instructions: "instructions"}

func newPinFile(id string) *pinFile {
	return &pinFile{server: id, books: make(map[string]pinBook)}
}

// of returns the book of one kind.
func (f *pinFile) of(kind string) pinBook {
	if f.books[kind] == nil {
		f.books[kind] = make(pinBook)
	}
	return f.books[kind]
}

// readPinFile parses a file. A file that is truncated or belongs to another
// server yields no pins. The definitions are subslices of raw.
func readPinFile(id string, raw []byte) *pinFile {
	f := newPinFile(id)
	if server, _ := jsonrpc.GetString(raw, "server"); server != id {
		return f
	}
	for _, kind := range pinKinds {
		book := f.of(kind)
		for name, known := range jsonrpc.Members(jsonrpc.Get(raw, pinMember[kind])) {
			p := &pin{definition: jsonrpc.Get(known, "definition"), pending: jsonrpc.Get(known, "pending")}
			if p.definition != nil || p.pending != nil {
				book[name] = p
			}
		}
	}
	return f
}

// appendTo appends the encoded file.
func (f *pinFile) appendTo(out []byte) []byte {
	out = slices.Grow(out, f.size())
	out = append(append(out, `{"server":`...), jsonrpc.Quote(f.server)...)
	for _, kind := range pinKinds {
		book := f.books[kind]
		if len(book) == 0 && kind != Tool {
			continue
		}
		out = append(append(append(out, `,"`...), pinMember[kind]...), `":{`...)
		for i, name := range slices.Sorted(maps.Keys(book)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, jsonrpc.Quote(name)...), ':')
			out = book[name].appendTo(out)
		}
		out = append(out, '}')
	}
	return append(out, '}', '\n')
}

// size returns the approximate length of the file.
func (f *pinFile) size() int {
	n := 100 + len(f.server)
	for _, book := range f.books {
		for name, p := range book {
			n += 40 + len(name) + len(p.definition) + len(p.pending)
		}
	}
	return n
}

// A pinBook holds the pins of one kind by name.
type pinBook map[string]*pin

// A pin holds the approved definition, if any, and a different one that is
// pending approval, if any.
type pin struct{ definition, pending []byte }

func (p *pin) appendTo(out []byte) []byte {
	out = append(out, '{')
	if p.definition != nil {
		out = append(append(out, `"definition":`...), p.definition...)
	}
	if p.pending != nil {
		if p.definition != nil {
			out = append(out, ',')
		}
		out = append(append(out, `"pending":`...), p.pending...)
	}
	return append(out, '}')
}

// maxPins limits the pins of one kind.
const maxPins = 20_000

// learn remembers new items and changed definitions, as subslices of the items. A
// new doubtful item is pending until it is approved. learn reports whether
// anything changed. If replicas share the book, a pending definition stays, since
// another replica may be shown it.
func (b pinBook) learn(items []catalog.Item, doubtful map[string][]definition.Suspicion, shared bool) bool {
	news := false
	for i := range items {
		item := &items[i]
		known := b[item.Key]
		switch {
		case known == nil && len(b) >= maxPins:
		case known == nil && doubtful[item.Key] != nil:
			b[item.Key] = &pin{pending: item.Raw}
			news = true
		case known == nil:
			b[item.Key] = &pin{definition: item.Raw}
			news = true
		case known.definition == nil && doubtful[item.Key] == nil:
			*known = pin{definition: item.Raw}
			news = true
		case known.definition != nil && sameDefinition(known.definition, item.Raw):
			if known.pending != nil && !shared {
				known.pending, news = nil, true
			}
		case known.pending == nil || !sameDefinition(known.pending, item.Raw):
			known.pending = item.Raw
			news = true
		}
	}
	return news
}

// join adds the pins of more that f lacks.
func (f *pinFile) join(more *pinFile) {
	for kind, book := range more.books {
		for name, p := range book {
			known := f.of(kind)[name]
			switch {
			case known == nil:
				f.of(kind)[name] = p
			case known.pending == nil && bytes.Equal(known.definition, p.definition):
				known.pending = p.pending
			}
		}
	}
}

// counts returns a hash of the approved definitions, without the pending ones.
func (f *pinFile) counts() (sum uint64) {
	for kind, book := range f.books {
		for name, p := range book {
			sum ^= maphash.Comparable(pinSeed, [3]string{kind, name, string(p.definition)})
		}
	}
	return sum
}

var pinSeed = maphash.MakeSeed()

// clone returns a copy that refers to no other memory.
func (f *pinFile) clone() *pinFile { return readPinFile(f.server, f.appendTo(nil)) }

// changes returns the items that differ from their approved definition.
func (b pinBook) changes(kind string, items []catalog.Item, withheld bool) []Change {
	var list []Change
	for i := range items {
		known := b[items[i].Key]
		if known != nil && known.pending != nil && (known.definition == nil || !sameDefinition(known.definition, items[i].Raw)) {
			c := known.change(kind, items[i].Key)
			c.Withheld = withheld
			list = append(list, c)
		}
	}
	return list
}

// change describes how the pending definition differs from the approved one.
func (p *pin) change(kind, name string) Change {
	return Change{
		Kind: kind, Name: strings.Clone(name), Fingerprint: definition.Fingerprint(p.pending),
		Changes: definition.Changes(p.definition, p.pending), Suspicious: definition.Suspicions(p.pending),
	}
}
