// Package catalog is the features of all upstreams as one namespace.
//
// It owns the names that clients see, which server each leads to, what is
// filtered out, and how lists are written for a client's version. It knows
// schemas: as types, as signatures, as rules for arguments. It does no I/O and
// starts nothing; a Catalog never changes once it is made.
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

// Member is the name of the list in its result: "tools", for example.
func (k Kind) Member() string {
	return [...]string{"tools", "prompts", "resources", "resourceTemplates"}[k]
}

// key is the member that identifies an item of the list.
func (k Kind) key() string {
	return [...]string{"name", "name", "uri", "uriTemplate"}[k]
}

// Features is what one connection of one server offers. It is not changed
// after it was handed to Merge.
type Features struct {
	Tools, Prompts, Resources, Templates []Item
	Instructions                         string
	// Capabilities is the raw object that the server declared; nil when it
	// declared none.
	Capabilities []byte
}

// Offers says whether the server declared a capability.
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

// Item is one tool, prompt, resource or resource template as its server sent
// it.
type Item struct {
	// Raw is the item's own bytes.
	Raw []byte
	// Key is what identifies it: a name, a URI or a URI template.
	Key                      string
	Name, Title, Description string
	// InputSchema, OutputSchema and Annotations are spans of Raw; nil when
	// absent.
	InputSchema, OutputSchema, Annotations []byte
	// Required names the arguments that a tool's input schema demands.
	Required []string
	// NeedsTask says that a tool runs as a task of 2025-11-25 alone.
	NeedsTask bool

	rules *jsonschema.Schema
}

// ReadOnly says that the server calls a tool read-only.
func (it *Item) ReadOnly() bool { return string(jsonrpc.Get(it.Annotations, "readOnlyHint")) == "true" }

// Source is one configured server, whether or not it is up.
type Source struct {
	Server string
	// Features is nil while the server has not told them.
	Features *Features
	Policy   Policy
	// State is the server's state, in the words of the package that watches it.
	State string
}

// Options is what holds for a whole catalogue.
type Options struct {
	// TTLMillis and CacheScope are what modern clients are told about keeping
	// a list; "private" when CacheScope is empty.
	TTLMillis  int64
	CacheScope string
	// Meta is the raw _meta of modern list results; nil for none.
	Meta []byte
	// Addresses remembers which server each address was given to; nil for a
	// catalogue that stands alone.
	Addresses *Addresses
}

// A namespace is the servers of a catalogue, with the names and addresses that
// their items get.
type namespace struct {
	sources []Source
	uris    []*uriRules // of the sources
	labels  []string

	servers map[string]int32 // by configured name, then by label
	aliases map[string]int32 // by the name in aliased URIs

	addresses *Addresses // nil where each address is its server's own
	seniority []int32    // the sources, those that came first before the others
}

// A directory finds items by the names and addresses that clients use for them.
type directory struct {
	namespace
	tools                         func() *table // made when first asked for: not every catalogue is
	prompts, resources, templates table
	aliased                       bool // some URI is listed under another one
}

// Catalog is the features of all servers of one schema, merged.
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

// Merge makes one namespace of the given servers, in their order.
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
		putFirst(c.servers, safeName(sources[i].Server), int32(i)) // as labels were before
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

// WithoutTools is the same server with its tools left out.
func (s Source) WithoutTools() Source {
	if s.Features == nil {
		return s
	}
	f := *s.Features
	f.Tools = nil
	s.Features = &f
	return s
}
