package scripts

import (
	"context"
	"maps"
	"slices"
	"sync"

	"mcp-all-in-one/internal/gateway/cache"
)

// Sources are the servers from which a script may have something: those that were
// called for it, and those of the kept results that it read. The scripts that call
// the script have them, too.
type Sources struct {
	outer    *Sources // of the script that calls this one; nil for none
	standing func(server string) cache.Key

	mu sync.Mutex
	by map[string]cache.Key // their standing when they were noted first
}

type sourcesKey struct{}

// Noting returns the context of a call that runs a script, in which the sources of the
// script are noted. standing returns what changes when the answers of a server may not be
// used any more.
func Noting(ctx context.Context, standing func(server string) cache.Key) (context.Context, *Sources) {
	outer, _ := ctx.Value(sourcesKey{}).(*Sources)
	s := &Sources{outer: outer, standing: standing, by: make(map[string]cache.Key)}
	return context.WithValue(ctx, sourcesKey{}, s), s
}

// Note notes sources of the script that makes a call, if a script does.
func Note(ctx context.Context, servers ...string) {
	s, _ := ctx.Value(sourcesKey{}).(*Sources)
	for ; s != nil; s = s.outer {
		s.mu.Lock()
		for _, server := range servers {
			if _, noted := s.by[server]; !noted {
				s.by[server] = s.standing(server)
			}
		}
		s.mu.Unlock()
	}
}

// List returns the sources so far; none of a nil s, which stands for no script.
func (s *Sources) List() []string { return slices.Sorted(maps.Keys(s.Standings())) }

// Standings returns the sources so far with their standings, like List.
func (s *Sources) Standings() map[string]cache.Key {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.by)
}
