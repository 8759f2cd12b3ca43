package instance

import (
	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
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
	if p.Required && p.Keys == nil && p.Key == "" && p.Tokens == nil {
		return nil, i18n.Errorf("access is enabled, and none of access.keys, access.key and access.oauth is set: nobody could enter", "已启用 access，但没有设置 access.keys、access.key 或 access.oauth：任何人都无法进入")
	}
	return p, nil
}
