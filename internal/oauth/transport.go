package oauth

import (
	"io"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/config"
)

// A Transport sends requests to one server with the token of one user.
type Transport struct {
	keeper *Keeper
	server *config.Server
	user   string
	base   http.RoundTripper
}

// Transport returns a transport to s on behalf of user, over base. It returns
// base itself if s needs no sign-in, for instance because the configuration has a
// credential.
func (k *Keeper) Transport(s *config.Server, user string, base http.RoundTripper) http.RoundTripper {
	if signable(s) != nil {
		return base
	}
	return &Transport{keeper: k, server: s, user: user, base: base}
}

// RoundTrip sends one request. If the server refuses the token, RoundTrip
// refreshes the token and sends the request again, once: the refusal says that
// the request did not run.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	g, err := t.keeper.token(r.Context(), t.server, t.user)
	if err != nil {
		closeBody(r)
		return nil, err
	}
	resp, err := t.base.RoundTrip(with(r, g))
	if err != nil {
		return nil, err
	}
	return t.answered(r, resp, g)
}

// answered handles a response that refuses the token of g; g is nil if there was
// no token.
func (t *Transport) answered(r *http.Request, resp *http.Response, g *grant) (*http.Response, error) {
	switch {
	case resp.StatusCode == http.StatusUnauthorized && g == nil:
		if bearerChallenge(resp) == nil {
			return resp, nil
		}
		discard(resp)
		t.keeper.await()
		return nil, &SignInError{Server: t.server.Name, User: t.user, Status: http.StatusUnauthorized}
	case resp.StatusCode == http.StatusUnauthorized:
		return t.refreshAndRetry(r, resp, g)
	case resp.StatusCode == http.StatusForbidden && g != nil:
		return t.forbidden(resp, g)
	}
	return resp, nil
}

// refreshAndRetry refreshes the token and sends the request once more.
func (t *Transport) refreshAndRetry(r *http.Request, refused *http.Response, g *grant) (*http.Response, error) {
	second := r
	if r.Body != nil && r.Body != http.NoBody {
		if r.GetBody == nil {
			return refused, nil
		}
		body, err := r.GetBody()
		if err != nil {
			return refused, nil
		}
		copied := *r
		copied.Body, second = body, &copied
	}
	discard(refused)
	next, err := t.keeper.renew(r.Context(), t.server, g)
	if err != nil {
		closeBody(second)
		return nil, err
	}
	resp, err := t.base.RoundTrip(with(second, next))
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		discard(resp)
		return nil, t.keeper.revoked(t.server, next)
	case http.StatusForbidden:
		return t.forbidden(resp, next)
	}
	return resp, nil
}

// forbidden remembers the scopes that a token lacks, for the next sign-in.
func (t *Transport) forbidden(resp *http.Response, g *grant) (*http.Response, error) {
	challenge := bearerChallenge(resp)
	if code := challenge["error"]; code != "insufficient_scope" && (code != "" || challenge["scope"] == "") {
		return resp, nil
	}
	discard(resp)
	scopes := strings.Fields(challenge["scope"])
	t.keeper.widen(t.server, g, scopes)
	return nil, &SignInError{Server: t.server.Name, User: t.user, Again: true, Status: http.StatusForbidden, Scopes: scopes}
}

// with returns a copy of the request with the token of g. The original request is
// not changed.
func with(r *http.Request, g *grant) *http.Request {
	if g == nil {
		return r
	}
	signed := *r
	signed.Header = r.Header.Clone()
	signed.Header.Set("Authorization", bearer(g))
	return &signed
}

func bearer(g *grant) string { return "Bearer " + g.Access }

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}
