// Package catalog merges the features of all upstreams into one namespace.
//
// It owns the names that clients see, the mapping from names to servers, the
// filters, and the rendering of lists for each protocol version. It handles
// schemas as types, as signatures and as rules for arguments. It does no I/O
// and starts nothing; a Catalog is immutable.
package catalog

import (
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// Kind is one of the four lists that a server offers.
type Kind uint8

// The four lists.
const (
	Tools Kind = iota
	Prompts
	Resources
	Templates
)

// Member returns the name of the list in a result, such as "tools".
func (k Kind) Member() string {
	return [...]string{"tools", "prompts", "resources", "resourceTemplates"}[k]
}

// key returns the member that identifies an item of the list.
func (k Kind) key() string {
	return [...]string{"name", "name", "uri", "uriTemplate"}[k]
}

// Features are the features that one connection of one server offers. They must
// not be changed after they are passed to Merge.
type Features struct {
	Tools, Prompts, Resources, Templates []Item
	Instructions                         string
	// Capabilities is the raw object that the server declared; nil when it
	// declared none.
	Capabilities []byte
}

// Offers reports whether the server declared a capability.
func (f *Features) Offers(capability string) bool {
	if f == nil || len(f.Capabilities) == 0 {
		return false
	}
	v := jsonrpc.Get(f.Capabilities, capability)
	return v != nil && v[0] != 'n' && v[0] != 'f'
}

func (f *Features) items(k Kind) []Item {
	if f == nil {
		return nil
	}
	return [...][]Item{f.Tools, f.Prompts, f.Resources, f.Templates}[k]
}

// Item is one tool, prompt, resource or resource template as the server sent
// it.
type Item struct {
	// Raw is the item's own bytes.
	Raw []byte
	// Key identifies the item: a name, a URI or a URI template.
	Key                      string
	Name, Title, Description string
	// InputSchema, OutputSchema and Annotations are spans of Raw; nil when
	// absent.
	InputSchema, OutputSchema, Annotations []byte
	// Required lists the required arguments of a tool's input schema.
	Required []string
	// NeedsTask reports that a tool can only be called as a task of 2025-11-25.
	NeedsTask bool

	readOnly bool
	rules    *jsonschema.Schema
}

// ReadOnly reports whether the server declares a tool read-only.
func (it *Item) ReadOnly() bool { return it.readOnly }

// Source is one configured server, whether or not it is up.
type Source struct {
	Server string
	// Features is nil until the server has listed them.
	Features *Features
	Policy   Policy
	// State is the server's state, as named by the package that monitors it.
	State string
}

// Options are the settings of a whole catalogue.
type Options struct {
	// Meta is the raw _meta of modern list results; nil for none.
	Meta []byte
	// Addresses remembers which server each address was given to; nil for a
	// catalogue without history.
	Addresses *Addresses
}

// A namespace holds the servers of a catalogue and assigns names and addresses
// to their items.
type namespace struct {
	sources []Source
	uris    []*uriRules // of the sources
	labels  []string

	servers map[string]int32 // by configured name, then by label
	aliases map[string]int32 // by the name in aliased URIs

	addresses *Addresses // nil if each server keeps its own addresses
	seniority []int32    // the sources by first appearance
}

// A directory finds items by the names and addresses that clients use.
type directory struct {
	namespace
	tools                         func() *table // built on first use, because not every catalogue needs it
	prompts, resources, templates table
	aliased                       bool // some URI is listed under an alias
}

// Catalog holds the merged features of all servers of one schema.
type Catalog struct {
	directory
	opt Options

	views viewCache
	index struct {
		once sync.Once
		*searchIndex
	}
	fits struct {
		mu sync.Mutex
		by map[string]*fitNames
	}
}

// Merge combines the given servers into one namespace, in their order.
func Merge(sources []Source, opt Options) *Catalog {
	c := &Catalog{opt: opt}
	c.sources, c.labels = sources, make([]string, len(sources))
	c.servers = make(map[string]int32, 2*len(sources))
	c.aliases = make(map[string]int32, len(sources))
	if c.addresses = opt.Addresses; c.addresses == nil && len(sources) > 1 {
		c.addresses = new(Addresses)
	}
	c.seniority = c.addresses.rank(sources)
	for i := range sources {
		putFirst(c.servers, sources[i].Server, int32(i))
	}
	for i := range sources {
		c.labels[i] = serverLabel(sources[i].Server)
		putFirst(c.servers, c.labels[i], int32(i))
		putFirst(c.aliases, addressLabel(sources[i].Server), int32(i))
	}
	for i := range sources {
		putFirst(c.servers, safeName(sources[i].Server), int32(i)) // the former form of labels
	}
	c.tools = sync.OnceValue(func() *table {
		t := c.nameTable(Tools)
		return &t
	})
	for i := range sources {
		c.uris = append(c.uris, newURIRules(&sources[i].Policy.Resources))
	}
	c.prompts = c.nameTable(Prompts)
	c.resources = c.uriTable(Resources)
	c.templates = c.uriTable(Templates)
	c.aliased = c.resources.aliased || c.templates.aliased
	return c
}

func putFirst(m map[string]int32, key string, i int32) {
	if _, taken := m[key]; !taken {
		m[key] = i
	}
}

func (d *directory) table(k Kind) *table {
	if k == Tools {
		return d.tools()
	}
	return [...]*table{Prompts: &d.prompts, Resources: &d.resources, Templates: &d.templates}[k]
}

// WithoutTools returns the server without its tools.
func (s Source) WithoutTools() Source {
	if s.Features == nil {
		return s
	}
	f := *s.Features
	f.Tools = nil
	s.Features = &f
	return s
}
