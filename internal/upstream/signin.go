package upstream

import (
	"net/http"

	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// roundTripper carries the requests of one connection: with the token of the
// user that the connection belongs to where each signs in, else of the gateway.
func (e *entry) roundTripper(s *slot) http.RoundTripper {
	if e.opt.Tokens == nil {
		return e.opt.Transport
	}
	user := ""
	if e.Config().Auth.PerUser {
		user = s.user
	}
	return e.opt.Tokens.Transport(e.Config(), user, e.carrier)
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
func (e *entry) userOf(c *Caller) string {
	if cfg := e.Config(); !cfg.Auth.PerUser && len(cfg.PerUser) == 0 {
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
