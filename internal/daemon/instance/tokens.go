package instance

import (
	"context"
	"path/filepath"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/secrets"
)

// TokenOptions say where the tokens of servers are kept.
func TokenOptions(cfg *config.Config, home string) oauth.Options {
	dir := config.UserDir(home)
	if dir == "" {
		dir = config.StateDir() // without a home directory nobody stays signed in
	}
	opt := oauth.Options{Dir: filepath.Join(dir, "tokens")}
	if cfg.Tokens == "keychain" {
		opt.Store = secrets.NewKeyring("mcp-all-in-one tokens")
	}
	return opt
}

// openTokens gives the instance the tokens of its servers.
func (in *Instance) openTokens(ctx context.Context) {
	opt := TokenOptions(in.Config, config.Home())
	opt.Log, opt.OnSignIn = in.Log, in.SignedIn
	in.Tokens = oauth.NewKeeper(ctx, opt)
}

// SignedIn tries the servers again that wait for a sign-in.
func (in *Instance) SignedIn() {
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			u.SignedIn()
		}
	}
}
