// Package addresses stores the rewritten addresses that clients were given, so
// that they survive a restart of the gateway.
package addresses

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/disk"
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
	for schema, book := range a.read() {
		a.by[schema] = catalog.NewAddresses(book)
	}
	return a
}

// read returns the contents of the file by schema.
func (a *File) read() map[string]catalog.AddressBook {
	books := make(map[string]catalog.AddressBook)
	if a.path == "" {
		return books
	}
	raw, err := os.ReadFile(a.path)
	if err != nil || json.Unmarshal(raw, &books) != nil {
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
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(a.path)
	if err != nil {
		return err
	}
	defer unlock()
	books := a.read()
	for schema, one := range a.by {
		books[schema] = books[schema].With(one.Book())
	}
	raw, err := json.Marshal(books)
	if err != nil {
		return err
	}
	tmp := a.path + ".tmp"
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, a.path)
}
