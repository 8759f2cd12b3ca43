// Package oauth signs this gateway in to the servers behind it.
//
// It finds the authorization server of a server, gets a client there, lets a
// person sign in, and stores, refreshes and uses the tokens. A token is bound to
// one issuer, one server, its URL and one user, and is sent nowhere else. The
// package does not know the gateway's own clients: their credentials never pass
// through it.
package oauth

import (
	"net/http"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// A SignInError says that a person must sign in.
type SignInError struct {
	// Server is the name of the server.
	Server string
	// User is the user who must sign in; empty for the gateway itself.
	User string
	// Again says that there was a sign-in that is no longer valid.
	Again bool
	// Status is 401, or 403 if the token lacks Scopes.
	Status int
	Scopes []string
}

func (e *SignInError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *SignInError) In(l i18n.Lang) string {
	words := []string{"mcp-all-in-one", "auth", "login", e.Server}
	if e.User != "" {
		words = append(words, "--user", e.User)
	}
	command := i18n.Command(words...)
	switch {
	case e.Status == http.StatusForbidden:
		return i18n.New("sign in again to grant %s: %s", "请重新登录以授予 %s：%s", strings.Join(e.Scopes, " "), command).In(l)
	case e.Again:
		return i18n.New("sign in again: %s", "请重新登录：%s", command).In(l)
	}
	return i18n.New("sign in: %s", "需要登录：%s", command).In(l)
}

// A RefreshError says that a token could not be refreshed for now. The request
// was not sent.
type RefreshError struct {
	Server string
	Err    error
}

func (e *RefreshError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *RefreshError) In(l i18n.Lang) string {
	return i18n.New("refreshing the token for %q: %v", "刷新 %q 的令牌失败：%v", e.Server, e.Err).In(l)
}

func (e *RefreshError) Unwrap() error { return e.Err }

// errUntrusted is wrapped by all errors about an authorization server that must
// not be used.
var errUntrusted = i18n.Errorf("the server's authorization cannot be used", "不能采用该服务器的授权")

func untrusted(en, zh string, args ...any) error {
	return i18n.Errorf("%w: %v", "%w：%v", errUntrusted, i18n.New(en, zh, args...))
}

// A grant holds what one issuer granted to one user for one server.
type grant struct {
	Server string `json:"server"` // schema/name
	User   string `json:"user,omitempty"`
	URL    string `json:"url"` // the server's URL when the user signed in

	Issuer    string `json:"issuer"`
	Resource  string `json:"resource"`
	TokenURL  string `json:"tokenUrl"`
	RevokeURL string `json:"revokeUrl,omitempty"`

	Client client `json:"client"`

	Scopes []string `json:"scopes,omitempty"`
	// Wanted are scopes that the server has requested since.
	Wanted []string `json:"wanted,omitempty"`

	Access   string    `json:"access,omitempty"`
	Refresh  string    `json:"refresh,omitempty"`
	Expiry   time.Time `json:"expiry,omitzero"`
	Obtained time.Time `json:"obtained"`
	// Revoked says that the issuer no longer accepts the grant.
	Revoked bool `json:"revoked,omitempty"`
}

// A client is the identity of this gateway at one issuer.
type client struct {
	ID       string `json:"id"`
	Secret   string `json:"secret,omitempty"`
	InHeader bool   `json:"inHeader,omitempty"` // the secret is sent in a header
	Redirect string `json:"redirect"`
	Dynamic  bool   `json:"dynamic,omitempty"` // registered by the gateway itself
}

// ahead is how long before its expiry a token is refreshed.
const ahead = time.Minute

// stale reports whether the token should be refreshed before its next use.
func (g *grant) stale(now time.Time) bool {
	return g.Access == "" || !g.Expiry.IsZero() && now.Add(ahead).After(g.Expiry)
}

// over reports whether the token cannot be used any more.
func (g *grant) over(now time.Time) bool {
	return g.Access == "" || !g.Expiry.IsZero() && !now.Before(g.Expiry)
}
