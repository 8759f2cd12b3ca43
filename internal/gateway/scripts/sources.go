package scripts

import (
	"context"
	"slices"
	"sync"
)

// Sources are the servers from which a script may have something: those that were
// called for it, and those of the kept results that it read. The scripts that call
// the script have them, too.
type Sources struct {
	outer *Sources // of the script that calls this one; nil for none

	mu   sync.Mutex
	list []string
}

type sourcesKey struct{}

// Noting returns the context of a call that runs a script, in which the sources of the
// script are noted.
func Noting(ctx context.Context) (context.Context, *Sources) {
	outer, _ := ctx.Value(sourcesKey{}).(*Sources)
	s := &Sources{outer: outer}
	return context.WithValue(ctx, sourcesKey{}, s), s
}

// Note notes sources of the script that makes a call, if a script does.
func Note(ctx context.Context, servers ...string) {
	s, _ := ctx.Value(sourcesKey{}).(*Sources)
	for ; s != nil; s = s.outer {
		s.mu.Lock()
		for _, server := range servers {
			if !slices.Contains(s.list, server) {
				s.list = append(s.list, server)
			}
		}
		s.mu.Unlock()
	}
}

// List returns the sources so far; none of a nil s, which stands for no script.
func (s *Sources) List() []string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}
