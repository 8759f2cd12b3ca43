package instance

import (
	"reflect"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// Access returns the access policy.
func (in *Instance) Access() *access.Policy { return in.policy.Load() }

// openAccess sets the initial policy. On stdio there is only one client, so
// access is open.
func (in *Instance) openAccess(o Options) error {
	policy := &access.Policy{}
	if o.Schema == "" {
		var err error
		if policy, err = newPolicy(o.Config, in.Shared); err != nil {
			return err
		}
		in.allowed = &o.Config.Access
	}
	in.policy.Store(policy)
	return nil
}

// admit applies the access settings of a reloaded file. It never removes the
// need for keys: that takes a restart of the gateway.
func (in *Instance) admit(cfg *config.Config) {
	if in.allowed == nil || reflect.DeepEqual(*in.allowed, cfg.Access) {
		return
	}
	now := in.Access()
	p, err := newPolicy(cfg, in.Shared)
	switch {
	case err != nil && !cfg.Access.Enabled, err == nil && now.Required && !p.Required:
		in.Log.Warn("the change of access takes effect at the next start", "path", cfg.Path, "err", err)
		return
	case err != nil:
		in.Log.Error("no new client is accepted: the keys that the config file requires cannot be read", "path", cfg.Path, "err", err)
		p = &access.Policy{Required: true, Keys: now.Keys, Key: now.Key, Tokens: now.Tokens, Share: now.Share}
	default:
		in.allowed = &cfg.Access
	}
	in.policy.Store(p)
	select {
	case in.Admission <- struct{}{}:
	default: // a notification is still pending
	}
}

// newPolicy returns the access policy of the configuration.
func newPolicy(cfg *config.Config, shared *Shared) (*access.Policy, error) {
	p := &access.Policy{Required: cfg.Access.Enabled}
	var err error
	if cfg.Access.Keys != "" {
		if p.Keys, err = shared.openKeys(cfg.Access.Keys); err != nil {
			return nil, err
		}
	}
	if cfg.Access.Key != "" {
		if err := p.SetKey(cfg.Access.Key); err != nil {
			return nil, err
		}
	}
	if cfg.Access.OAuth.Issuer != "" {
		if p.Tokens, err = access.NewResourceServer(cfg.Access.OAuth, nil); err != nil {
			return nil, err
		}
	}
	if p.Share = cfg.Access.Share; p.Share.URL != "" {
		if p.Tokens, err = access.NewSharer(p.Share); err != nil {
			return nil, err
		}
	}
	if p.Required && p.Keys == nil && p.Key == "" && p.Tokens == nil {
		return nil, i18n.Errorf("access is enabled, but none of access.keys, access.key and access.oauth is set, so no client could connect", "已启用 access，但没有设置 access.keys、access.key 或 access.oauth，因此任何客户端都无法连接")
	}
	return p, nil
}
