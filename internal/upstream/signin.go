package upstream

import (
	"net/http"

	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// roundTripper returns the transport of one connection. It adds the token of the
// connection's user if each user signs in, otherwise the token of the gateway.
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

// newCarrier returns the transport that all HTTP connections of one server share if tokens
// are used; nil if each connection has its own.
func newCarrier(opt *Options) http.RoundTripper {
	switch {
	case opt.Tokens == nil:
		return nil
	case opt.Transport != nil:
		return opt.Transport
	}
	return httpclient.NewClientTransport()
}

// userOf returns the user for whom c reaches the server. It is empty if all users share one
// sign-in and the server has no per-user values.
func (e *entry) userOf(c *Caller) string {
	if cfg := e.Config(); !cfg.Auth.PerUser && len(cfg.PerUser) == 0 {
		return ""
	}
	return c.Principal
}

// SignedIn tells the upstream that a user has signed in. An upstream that waits for a
// sign-in is tried again at once.
func (u *Upstream) SignedIn() {
	if state, _ := u.State(); state == SignIn {
		u.Restart()
	}
}
