package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Addresses remembers which server each address was given to. Adding, removing
// or slowly starting a server then never changes where an address leads. It
// serves successive catalogues of one schema and is safe for concurrent use.
type Addresses struct {
	mu sync.Mutex
	// seen lists the servers in the order in which they first appeared.
	seen []string
	// given maps addresses to the servers that keep them. shared is the part of
	// given whose addresses other servers have too.
	given, shared map[string]string
	changed       bool
}

const (
	// maxGiven and maxShared limit the memory that servers can make us use.
	maxGiven  = 200_000
	maxShared = 20_000
)

// AddressBook is the part of Addresses that outlives the process.
type AddressBook struct {
	Servers []string          `json:"servers,omitempty"`
	Shared  map[string]string `json:"shared,omitempty"`
}

// With returns the book extended by another one. Servers of this book come
// first, and for an address in both books, this one wins.
func (b AddressBook) With(more AddressBook) AddressBook {
	all := AddressBook{Servers: slices.Clone(b.Servers), Shared: maps.Clone(b.Shared)}
	for _, server := range more.Servers {
		if !slices.Contains(all.Servers, server) {
			all.Servers = append(all.Servers, server)
		}
	}
	for uri, keeper := range more.Shared {
		if _, given := all.Shared[uri]; given || len(all.Shared) >= maxShared {
			continue
		}
		if all.Shared == nil {
			all.Shared = make(map[string]string)
		}
		all.Shared[uri] = keeper
	}
	return all
}

// NewAddresses returns Addresses that continue from a stored book.
func NewAddresses(book AddressBook) *Addresses {
	return &Addresses{seen: slices.Clone(book.Servers), given: maps.Clone(book.Shared), shared: maps.Clone(book.Shared)}
}

// Book returns the state to be stored.
func (a *Addresses) Book() AddressBook {
	a.mu.Lock()
	defer a.mu.Unlock()
	return AddressBook{Servers: slices.Clone(a.seen), Shared: maps.Clone(a.shared)}
}

// News reports whether the book has changed since the last call of News.
func (a *Addresses) News() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := a.changed
	a.changed = false
	return news
}

// rank sorts the servers by first appearance, new ones last.
func (a *Addresses) rank(sources []Source) []int32 {
	order := make([]int32, len(sources))
	for i := range order {
		order[i] = int32(i)
	}
	if a == nil {
		return order
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	place := make(map[string]int, len(a.seen))
	for i, server := range a.seen {
		place[server] = i
	}
	for i := range sources {
		server := sources[i].Server
		if _, known := place[server]; !known {
			place[server] = len(a.seen)
			a.seen = append(a.seen, strings.Clone(server))
			a.changed = true
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int { return place[sources[x].Server] - place[sources[y].Server] })
	return order
}

// keeper returns the server that keeps an address: the first one that asked for
// it.
func (a *Addresses) keeper(uri, server string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	keeper, given := a.given[uri]
	if !given {
		if len(a.given) >= maxGiven {
			a.given = maps.Clone(a.shared)
		}
		if a.given == nil {
			a.given = make(map[string]string)
		}
		a.given[strings.Clone(uri)] = server
		return server
	}
	if keeper == server {
		return keeper
	}
	if _, noted := a.shared[uri]; !noted && len(a.shared) < maxShared {
		if a.shared == nil {
			a.shared = make(map[string]string)
		}
		a.shared[strings.Clone(uri)] = keeper
		a.changed = true
	}
	return keeper
}

// holder returns the server that an address was given to, empty for none.
func (a *Addresses) holder(uri string) string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.given[uri]
}
