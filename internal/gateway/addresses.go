package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/catalog"
)

// Addresses are the addresses that clients were given, by schema. They are kept
// in a file where one is named: no restart gives an address to another server.
type Addresses struct {
	path string
	mu   sync.Mutex
	by   map[string]*catalog.Addresses
}

// OpenAddresses reads the file; a missing or broken one has no addresses. An
// empty path keeps nothing.
func OpenAddresses(path string) *Addresses {
	a := &Addresses{path: path, by: make(map[string]*catalog.Addresses)}
	raw, err := os.ReadFile(path)
	if path == "" || err != nil {
		return a
	}
	var books map[string]catalog.AddressBook
	if json.Unmarshal(raw, &books) == nil {
		for schema, book := range books {
			a.by[schema] = catalog.NewAddresses(book)
		}
	}
	return a
}

func (a *Addresses) of(schema string) *catalog.Addresses {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.by[schema]
	if one == nil {
		one = catalog.NewAddresses(catalog.AddressBook{})
		a.by[schema] = one
	}
	return one
}

// save writes what is new. A disk that refuses costs nothing while the gateway
// runs.
func (a *Addresses) save() {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := false
	for _, one := range a.by {
		news = one.News() || news
	}
	if !news || a.path == "" {
		return
	}
	books := make(map[string]catalog.AddressBook, len(a.by))
	for schema, one := range a.by {
		books[schema] = one.Book()
	}
	raw, err := json.Marshal(books)
	if err != nil || os.MkdirAll(filepath.Dir(a.path), 0o700) != nil {
		return
	}
	tmp := a.path + ".tmp"
	if os.WriteFile(tmp, raw, 0o600) == nil {
		os.Rename(tmp, a.path)
	}
}
