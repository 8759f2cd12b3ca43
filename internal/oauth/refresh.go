package oauth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/record"
)

// refreshTime limits a refresh, including the wait for other processes.
const refreshTime = 20 * time.Second

// A flight is one refresh that several requests wait for.
type flight struct {
	done chan struct{}
	next *grant
	err  error
}

// token returns a grant with a usable token. It refreshes a token that is about
// to expire. It returns nil if there is no grant.
func (k *Keeper) token(ctx context.Context, s *config.Server, user string) (*grant, error) {
	g := k.lookup(s, user)
	now := time.Now()
	switch {
	case g == nil:
		return nil, nil
	case g.Revoked:
		k.await()
		return nil, &SignInError{Server: s.Name, User: user, Again: true, Status: 401}
	case !g.stale(now) || g.Refresh == "" && !g.over(now):
		return g, nil
	}
	next, err := k.renew(ctx, s, g)
	if _, temporary := err.(*RefreshError); temporary && !g.over(time.Now()) {
		return g, nil
	}
	return next, err
}

// renew replaces the token of a grant. Concurrent requests share one refresh,
// which outlives the request that began it.
func (k *Keeper) renew(ctx context.Context, s *config.Server, g *grant) (*grant, error) {
	k.mu.Lock()
	f := k.flights[g]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		k.flights[g] = f
		k.wg.Go(func() {
			f.next, f.err = k.refresh(s, g)
			k.mu.Lock()
			delete(k.flights, g)
			k.mu.Unlock()
			close(f.done)
		})
	}
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.next, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// refresh asks the issuer for the next token. At many issuers a refresh token is
// valid only once, so two processes must not use the same one: the second process
// finds the token that the first got.
func (k *Keeper) refresh(s *config.Server, g *grant) (*grant, error) {
	ctx, cancel := context.WithTimeout(k.life, refreshTime)
	defer cancel()
	if err := os.MkdirAll(k.opt.Dir, 0o700); err != nil {
		return nil, &RefreshError{s.Name, err}
	}
	unlock, err := disk.Lock(filepath.Join(k.opt.Dir, "refresh"))
	if err != nil {
		return nil, &RefreshError{s.Name, err}
	}
	defer unlock()
	if k.opt.Documents != nil {
		own := Options{Dir: k.opt.Dir, Store: k.opt.Store.(*sharedStore).Store}
		free, err := k.opt.Documents.Lock(ctx, record.Tokens+g.name(), own.Copy(g.name()))
		if err != nil {
			return nil, &RefreshError{s.Name, err}
		}
		defer free()
	}
	k.mu.Lock()
	k.loadLocked()
	now := k.findLocked(s, g.User)
	k.mu.Unlock()
	switch {
	case now == nil || now.Revoked:
		k.await()
		return nil, &SignInError{Server: s.Name, User: g.User, Again: true, Status: 401}
	case now.Access != g.Access && !now.over(time.Now()):
		return now, nil
	case now.Refresh == "":
		return nil, k.revoked(s, now)
	}
	fetch, err := newFetch(s)
	if err != nil {
		return nil, &RefreshError{s.Name, err}
	}
	defer fetch.CloseIdleConnections()
	next := *now
	x := exchange{fetch: fetch, grant: &next}
	if err := x.refresh(ctx); denied(err) {
		return nil, k.revoked(s, now)
	} else if err != nil {
		return nil, &RefreshError{s.Name, plainly(err)}
	}
	next.Wanted = now.Wanted // a refresh does not add scopes
	if _, err := k.keep(&next); err != nil {
		k.opt.Log.Warn("a refreshed token is kept in memory only", "upstream", s.Name, "err", err)
	}
	return &next, nil
}

// revoked marks a grant as revoked and returns the error that says so.
func (k *Keeper) revoked(s *config.Server, g *grant) error {
	dead := *g
	dead.Access, dead.Refresh, dead.Revoked = "", "", true
	if _, err := k.keep(&dead); err != nil {
		k.opt.Log.Warn("keeping a token", "upstream", s.Name, "err", err)
	}
	k.opt.Log.Warn("the grant is no longer valid", "upstream", s.Name, "issuer", g.Issuer)
	k.await()
	return &SignInError{Server: s.Name, User: g.User, Again: true, Status: 401}
}

// widen records the scopes that a server requires beyond those granted.
func (k *Keeper) widen(s *config.Server, g *grant, scopes []string) {
	more := *g
	more.Wanted = union(append([]string(nil), g.Wanted...), scopes)
	if len(more.Wanted) == len(g.Wanted) {
		return
	}
	if _, err := k.keep(&more); err != nil {
		k.opt.Log.Warn("keeping the scopes that a server wants", "upstream", s.Name, "err", fmt.Sprint(err))
	}
}
