package cli

import (
	"context"
	"path/filepath"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/oauth"
)

// tokenOptions say where the tokens of servers are kept.
func tokenOptions(cfg *config.Config, home string) oauth.Options {
	dir := config.UserDir(home)
	if dir == "" {
		dir = config.StateDir() // without a home directory nobody stays signed in
	}
	opt := oauth.Options{Dir: filepath.Join(dir, "tokens")}
	if cfg.Tokens == "keychain" {
		opt.Store = config.NewKeyring("mcp-all-in-one tokens")
	}
	return opt
}

// openTokens gives the instance the tokens of its servers.
func (in *instance) openTokens(ctx context.Context) {
	opt := tokenOptions(in.cfg, config.Home())
	opt.Log, opt.OnSignIn = in.log, in.signedIn
	in.tokens = oauth.NewKeeper(ctx, opt)
}

// signedIn tries the servers again that wait for a sign-in.
func (in *instance) signedIn() {
	for _, view := range in.set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			u.SignedIn()
		}
	}
}
