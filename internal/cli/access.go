package cli

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/say"
)

// newPolicy is who may enter, as the config file says.
func newPolicy(cfg *config.Config) (*access.Policy, error) {
	p := &access.Policy{Required: cfg.Access.Enabled}
	var err error
	if cfg.Access.Keys != "" {
		if p.Keys, err = access.OpenKeys(cfg.Access.Keys); err != nil {
			return nil, err
		}
	}
	if cfg.Access.OAuth.Issuer != "" {
		if p.Tokens, err = access.NewResourceServer(cfg.Access.OAuth, nil); err != nil {
			return nil, err
		}
	}
	if p.Required && p.Keys == nil && p.Tokens == nil {
		return nil, say.Errorf("access is enabled, and neither access.keys nor access.oauth is set: nobody could enter", "已启用 access，但没有设置 access.keys 或 access.oauth：任何人都无法进入")
	}
	return p, nil
}

// guardKeys ends the sessions of keys that stop being valid, until ctx ends.
func (f *front) guardKeys(ctx context.Context) {
	keys := f.in.access.Keys
	if keys == nil {
		return
	}
	stop := keys.OnRevoke(func(id string) {
		f.in.log.Info("ending the sessions of a key", "principal", id)
		f.mcp.CloseSessionsOf(id)
	})
	f.in.wg.Go(func() {
		defer stop()
		keys.Watch(ctx)
	})
}

// admit lets a request in, with who sent it in its context; nil after it has
// answered the request itself.
func (rt *router) admit(w http.ResponseWriter, r *http.Request, path string) *http.Request {
	p, refused := rt.in.access.Authenticate(r)
	if refused != nil {
		rt.refuse(w, path, refused)
		return nil
	}
	return r.WithContext(access.With(r.Context(), p))
}

// visible is what a principal sees of a schema; nil when that is everything.
// scope is equal for principals that see the same.
func (in *instance) visible(p access.Principal, schema string) (may catalog.Visible, scope string) {
	if p.Unbound() && !p.ReadOnly {
		return nil, ""
	}
	scopes := p.Scopes()
	slices.Sort(scopes)
	return func(server, name string) bool {
		return p.MaySee(schema, server, name) && (!p.ReadOnly || in.harmless(schema, server, name))
	}, strings.Join(scopes, " ")
}

// harmless says that a name is not a tool, or one that its server calls
// read-only.
func (in *instance) harmless(schema, server, name string) bool {
	view := in.set.Snapshot().Schema(schema)
	if view == nil {
		return false
	}
	u := view.Upstream(server)
	if u == nil {
		return false
	}
	features := u.Features(nil)
	if features == nil {
		return false
	}
	i := slices.IndexFunc(features.Tools, func(t catalog.Item) bool { return t.Name == name })
	return i < 0 || string(jsonrpc.Get(features.Tools[i].Annotations, "readOnlyHint")) == "true"
}
