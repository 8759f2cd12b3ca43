package daemon

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/access"
)

// guardKeys ends the sessions of keys that stop being valid, until ctx ends.
func (f *front) guardKeys(ctx context.Context) {
	keys := f.in.Access.Keys
	if keys == nil {
		return
	}
	stop := keys.OnRevoke(func(id string) {
		f.in.Log.Info("ending the sessions of a key", "principal", id)
		f.mcp.CloseSessionsOf(id)
		f.console.End(id)
	})
	f.in.Background.Go(func() {
		defer stop()
		keys.Watch(ctx)
	})
}

// admit lets a request in, with who sent it in its context; nil after it has
// answered the request itself.
func (rt *router) admit(w http.ResponseWriter, r *http.Request, path string) *http.Request {
	p, refused := rt.in.Access.Authenticate(r)
	if refused != nil {
		rt.refuse(w, path, refused)
		return nil
	}
	return r.WithContext(access.With(r.Context(), p))
}
