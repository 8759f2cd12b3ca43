package instance

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/secrets"
)

// TokenOptions say where the tokens of servers are kept, for a command.
func TokenOptions(cfg *config.Config, home string) (oauth.Options, error) {
	shared, err := share(cfg, slog.New(slog.DiscardHandler))
	return shared.tokens(cfg, home), err
}

// tokens says where they are kept, and shared if they are.
func (s *Shared) tokens(cfg *config.Config, home string) oauth.Options {
	dir := folders.UserDir(home)
	if dir == "" {
		dir = folders.StateDir() // without a home directory nobody stays signed in
	}
	opt := oauth.Options{Dir: filepath.Join(dir, "tokens")}
	if cfg.Tokens == "keychain" {
		opt.Store = secrets.NewKeyring("mcp-all-in-one tokens")
	}
	if s != nil {
		opt.Shelf = s.Documents
		s.Put(record.Tokens, tokenPlace(opt, s.log))
	}
	return opt
}

// tokenPlace is where the copies of tokens are.
func tokenPlace(opt oauth.Options, log *slog.Logger) cluster.Place {
	return cluster.Place{
		Names: func() []string {
			names, err := opt.Names()
			if err != nil {
				log.Warn("reading tokens", "err", err)
			}
			for i := range names {
				names[i] = record.Tokens + names[i]
			}
			return names
		},
		Copy: func(name string) record.Copy { return opt.Copy(strings.TrimPrefix(name, record.Tokens)) },
	}
}

// openTokens gives the instance the tokens of its servers.
func (in *Instance) openTokens(ctx context.Context) {
	opt := in.Shared.tokens(in.Config, folders.Home())
	opt.Log, opt.OnSignIn = in.Log, in.SignedIn
	opt.OnSignOut = func(server, user string) { signedOut(in, server, user) }
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

// signedOut forgets what a user who has signed out of a server got from it.
func signedOut(in *Instance, server, user string) {
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			if u.Config().ID() == server {
				in.Gateway.SignedOut(u, user)
			}
		}
	}
}
