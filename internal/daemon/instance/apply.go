package instance

import "mcp-all-in-one/internal/config"

// Apply applies the configuration to the servers and the access policy, and to
// mcp.lock if locking is on.
func (in *Instance) Apply(cfg *config.Config) {
	in.admit(cfg)
	in.held.use(cfg)
	in.placer.want(cfg)
	in.Usage.Use(cfg.Usage.Enabled, cfg.Usage.Days)
	in.Set.Apply(cfg, in.Only)
}
