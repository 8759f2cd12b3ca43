package upstream

import (
	"net/http"

	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// roundTripper carries the requests of one connection: with the token of the
// user that the connection belongs to where each signs in, else of the gateway.
func (u *Upstream) roundTripper(s *slot) http.RoundTripper {
	if u.opt.Tokens == nil {
		return u.opt.Transport
	}
	user := ""
	if u.Config().Auth.PerUser {
		user = s.user
	}
	return u.opt.Tokens.Transport(u.Config(), user, u.carrier)
}

// newCarrier is what all connections of one server over HTTP go through, where
// tokens are used; nil where each has its own.
func newCarrier(opt *Options) http.RoundTripper {
	switch {
	case opt.Tokens == nil:
		return nil
	case opt.Transport != nil:
		return opt.Transport
	}
	return httpclient.NewClientTransport()
}

// userOf is on whose behalf c reaches the server: nobody's in particular where
// all share one sign-in, and nobody brings values along.
func (u *Upstream) userOf(c *Caller) string {
	if cfg := u.Config(); !cfg.Auth.PerUser && len(cfg.PerUser) == 0 {
		return ""
	}
	return c.Principal
}

// SignedIn tells the upstream that somebody has signed in: one that waits for
// that is tried at once.
func (u *Upstream) SignedIn() {
	if state, _ := u.State(); state == SignIn {
		u.Restart()
	}
}
