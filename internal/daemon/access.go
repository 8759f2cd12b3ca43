package daemon

import (
	"context"
	"net/http"
	"sync"

	"mcp-all-in-one/internal/access"
)

// guardAccess ends the sessions of principals that lose access, until ctx ends
// or the front drains. A principal loses access when its key becomes invalid,
// or when a reloaded config file says so.
func (f *front) guardAccess(ctx context.Context) {
	ctx, f.unguard = context.WithCancel(ctx)
	f.in.Background.Go(func() {
		for p := f.in.Access(); ctx.Err() == nil; {
			f.watchKeys(ctx, p.Keys)
			now := f.in.Access()
			for _, id := range now.Ended(p) {
				f.end(id)
			}
			p = now
		}
	})
}

// watchKeys watches the keys of a policy until the policy is replaced.
func (f *front) watchKeys(ctx context.Context, keys *access.Keys) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	if keys != nil {
		defer keys.OnRevoke(f.end)()
		watching.Go(func() { keys.Watch(ctx) })
	}
	select {
	case <-ctx.Done():
	case <-f.in.Admission:
	}
}

// end ends all sessions of a principal, and what runs for it without one.
func (f *front) end(id string) {
	f.in.Log.Info("ending the sessions of a principal", "principal", id)
	f.mcp.CloseSessionsOf(id)
	f.in.Gateway.End(id)
	f.console.End(id)
}

// admit authenticates a request and returns it with the principal in its
// context. It returns nil if it has refused the request.
func (rt *router) admit(w http.ResponseWriter, r *http.Request, path string) *http.Request {
	p, refused := rt.in.Access().Authenticate(r)
	if refused != nil {
		rt.refuse(w, path, refused)
		return nil
	}
	return r.WithContext(access.With(r.Context(), p))
}
