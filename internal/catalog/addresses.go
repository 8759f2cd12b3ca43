package catalog

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Addresses remembers which server each address was given to, so that no server
// that is added, removed or slow to start changes where an address leads. It
// serves the catalogues of one schema, one after the other. It is safe for
// concurrent use.
type Addresses struct {
	mu sync.Mutex
	// seen are the servers, those that were there first before the others.
	seen []string
	// given are the keepers of addresses; shared are those of addresses that
	// another server has, too.
	given, shared map[string]string
	changed       bool
}

const (
	// maxGiven and maxShared bound what servers can make us remember.
	maxGiven  = 200_000
	maxShared = 20_000
)

// AddressBook is what outlives the process of Addresses.
type AddressBook struct {
	Servers []string          `json:"servers,omitempty"`
	Shared  map[string]string `json:"shared,omitempty"`
}

// With is the book with what another one has besides. Who came first in this one
// stays first, and an address that both have given stays where this one has it.
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

// NewAddresses goes on from what was remembered.
func NewAddresses(book AddressBook) *Addresses {
	return &Addresses{seen: slices.Clone(book.Servers), given: maps.Clone(book.Shared), shared: maps.Clone(book.Shared)}
}

// Book is what is to be remembered.
func (a *Addresses) Book() AddressBook {
	a.mu.Lock()
	defer a.mu.Unlock()
	return AddressBook{Servers: slices.Clone(a.seen), Shared: maps.Clone(a.shared)}
}

// News says whether the book has changed since it was last asked.
func (a *Addresses) News() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := a.changed
	a.changed = false
	return news
}

// rank puts servers in the order in which they came, new ones last.
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

// keeper is the server that has an address: the first that wanted it.
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

// holder is the server that an address was given to, empty for none.
func (a *Addresses) holder(uri string) string {
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.given[uri]
}
