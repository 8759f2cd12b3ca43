package kept

import (
	"context"
	"sync"
)

// turns lets one search run at a time, so that searches do not take all
// processors. Of each principal only one search is in line: a principal that
// starts many does not delay the others by more than one.
type turns struct {
	line chan struct{} // has an element while a search runs

	mu sync.Mutex
	by map[string]*turn
}

// A turn is the place of a principal in the line.
type turn struct {
	taken chan struct{} // has an element while a search of the principal is in line
	users int           // searches that have or want the place
}

func newTurns() *turns {
	return &turns{line: make(chan struct{}, 1), by: make(map[string]*turn)}
}

// enter waits until a search of a principal may run. leave ends it.
func (t *turns) enter(ctx context.Context, principal string) (leave func(), err error) {
	own := t.of(principal)
	if err := wait(ctx, own.taken); err != nil {
		t.drop(principal, own)
		return nil, err
	}
	if err := wait(ctx, t.line); err != nil {
		<-own.taken
		t.drop(principal, own)
		return nil, err
	}
	return func() {
		<-t.line
		<-own.taken
		t.drop(principal, own)
	}, nil
}

func wait(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *turns) of(principal string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.by[principal]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		t.by[principal] = own
	}
	own.users++
	return own
}

func (t *turns) drop(principal string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.by, principal)
	}
}
