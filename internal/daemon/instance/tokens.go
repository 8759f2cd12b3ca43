package instance

import (
	"cmp"
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

// TokenOptions returns where a command stores the tokens of servers.
func TokenOptions(cfg *config.Config, home string) (oauth.Options, error) {
	shared, err := share(cfg, slog.New(slog.DiscardHandler))
	return shared.tokens(cfg, home), err
}

// tokens returns where tokens are stored, and whether they are shared.
func (s *Shared) tokens(cfg *config.Config, home string) oauth.Options {
	dir := cmp.Or(folders.UserDir(home), folders.StateDir()) // without a home directory sign-ins are not permanent
	opt := oauth.Options{Dir: filepath.Join(dir, "tokens")}
	if cfg.Tokens == "keychain" {
		opt.Store = secrets.NewKeyring("mcp-all-in-one tokens")
	}
	if s != nil {
		opt.Documents = s.Documents
		s.Put(record.Tokens, tokenPlace(opt, s.log))
	}
	return opt
}

// tokenPlace returns the Place of the copies of tokens.
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

// openTokens opens the tokens of the servers.
func (in *Instance) openTokens(ctx context.Context) {
	opt := in.Shared.tokens(in.Config, folders.Home())
	opt.Log, opt.OnSignIn = in.Log, in.SignedIn
	opt.OnSignOut = func(server, user string) { signedOut(in, server, user) }
	in.Tokens = oauth.NewKeeper(ctx, opt)
}

// SignedIn retries the servers that wait for a sign-in.
func (in *Instance) SignedIn() {
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			u.SignedIn()
		}
	}
}

// signedOut drops what a user got from a server, after signing out of it.
func signedOut(in *Instance, server, user string) {
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			if u.Config().ID() == server {
				in.Gateway.SignedOut(u, user)
			}
		}
	}
}
