// Package addresses stores the rewritten addresses that clients were given, so
// that they survive a restart of the gateway.
package addresses

import (
	"encoding/json"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/record"
)

// A File holds the rewritten addresses of each schema. After a restart an
// address still leads to the same server.
type File struct {
	path string
	mu   sync.Mutex
	by   map[string]*catalog.Addresses
	news bool // there are unsaved addresses
}

// Open reads the file. A missing or broken file has no addresses. With an empty
// path the addresses are kept in memory only.
func Open(path string) *File {
	a := &File{path: path, by: make(map[string]*catalog.Addresses)}
	raw, _ := record.File{Path: path}.Read()
	for schema, book := range parse(raw) {
		a.by[schema] = catalog.NewAddresses(book)
	}
	return a
}

// parse returns the contents of the file by schema. Broken contents count as
// none.
func parse(raw []byte) map[string]catalog.AddressBook {
	books := make(map[string]catalog.AddressBook)
	if json.Unmarshal(raw, &books) != nil {
		return make(map[string]catalog.AddressBook)
	}
	return books
}

// Of returns the addresses of a schema.
func (a *File) Of(schema string) *catalog.Addresses {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.by[schema]
	if one == nil {
		one = catalog.NewAddresses(catalog.AddressBook{})
		a.by[schema] = one
	}
	return one
}

// Save writes new addresses. Gateways that share the file take turns and keep
// each other's addresses. If the disk fails, the addresses stay in memory.
func (a *File) Save() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.by {
		a.news = one.News() || a.news
	}
	if a.news && a.path != "" {
		a.news = a.write() != nil // on failure the next Save tries again
	}
}

func (a *File) write() error {
	return record.File{Path: a.path}.Change(func(old []byte) ([]byte, error) {
		books := parse(old)
		for schema, one := range a.by {
			books[schema] = books[schema].With(one.Book())
		}
		return json.Marshal(books)
	})
}
