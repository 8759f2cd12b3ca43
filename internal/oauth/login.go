package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// loginTime is how long a person has to sign in.
const loginTime = 10 * time.Minute

// LoginOptions configures a sign-in.
type LoginOptions struct {
	// User is the user who signs in; empty for the gateway itself.
	User string
	// Base is the transport to the server itself. It must not follow redirects.
	Base http.RoundTripper
	// Ask is a path below the server's URL that is asked for with GET to learn
	// where to sign in, for a server that does not speak MCP. The resource may then
	// be anything below the URL.
	Ask string
	// Show is called with the address where the person signs in.
	Show func(address string)
	// Watch is called with every request of the sign-in; it may be nil.
	Watch func(Step)
}

// Offered reports whether a server refuses a request without a token, and names the
// place of its metadata: where a person can sign in.
func Offered(ctx context.Context, s *config.Server, opt LoginOptions) (bool, error) {
	f := &finder{server: s, ask: opt.Ask, base: opt.Base}
	challenge, err := f.challenge(ctx)
	return challenge["resource_metadata"] != "", err
}

// Login lets a person sign in to a server, and stores the grant.
func (k *Keeper) Login(ctx context.Context, s *config.Server, opt LoginOptions) (Status, error) {
	if err := signable(s); err != nil {
		return Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	fetch, err := newFetch(s)
	if err != nil {
		return Status{}, err
	}
	defer fetch.CloseIdleConnections()
	fetch.Transport = watch(fetch.Transport, HopAuthority, opt.Watch)
	f := &finder{server: s, ask: opt.Ask, base: watch(opt.Base, HopServer, opt.Watch, slices.Collect(maps.Keys(s.Headers))...), fetch: fetch}
	a, err := f.find(ctx)
	if err != nil {
		return Status{}, err
	}
	before := k.before(s, opt.User, a.meta.Issuer)
	ln, err := listenCallback(ctx, s.Auth.Port, before.Client.Redirect)
	if err != nil {
		return Status{}, err
	}
	state := rand.Text()
	answers := newCallback(ln, state, a.meta.Issuer, a.meta.AuthorizationResponseIssParameterSupported,
		func(address string, status int) { opt.told(HopCallback, address, status) })
	defer answers.close()
	us, err := f.client(ctx, a.meta, redirectOf(ln), &before.Client)
	if err != nil && a.assumed {
		return Status{}, i18n.Errorf("%w: %w", "%w：%w", ErrNowhere, err)
	}
	if err != nil {
		return Status{}, err
	}
	g := &grant{
		Server: s.ID(), User: opt.User, URL: s.URL, Issuer: a.meta.Issuer, Resource: a.resource,
		TokenURL: a.meta.TokenEndpoint, RevokeURL: a.meta.RevocationEndpoint, Client: us, Scopes: wantedScopes(s, a, before),
	}
	x := exchange{fetch: fetch, grant: g}
	verifier := oauth2.GenerateVerifier()
	address := x.config(a.meta.AuthorizationEndpoint).AuthCodeURL(state,
		oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", g.Resource))
	opt.told(HopBrowser, address, 0)
	opt.Show(address)
	code, err := answers.wait(ctx)
	if err != nil {
		return Status{}, err
	}
	if err := x.redeem(ctx, code, verifier); err != nil {
		return Status{}, err
	}
	return k.keep(g)
}

// told reports a step of the browser.
func (o *LoginOptions) told(hop, address string, status int) {
	u, err := url.Parse(address)
	if o.Watch == nil || err != nil {
		return
	}
	o.Watch(Step{Hop: hop, At: time.Now(), Method: http.MethodGet, URL: shownURL(u), Status: status})
}

// signable returns an error for servers that need no sign-in.
func signable(s *config.Server) error {
	switch _, err := url.Parse(s.URL); {
	case s.URL == "" || err != nil:
		return i18n.Errorf("%q is not reached over HTTP, so there is nothing to sign in to", "%q 不通过 HTTP 访问，无需登录", s.Name)
	case s.Credential() != "" || usersAuthorize(s):
		return i18n.Errorf("%q has a credential in the configuration already", "%q 在配置中已有凭据", s.Name)
	}
	return nil
}

// usersAuthorize reports whether each user has a value that says who asks.
func usersAuthorize(s *config.Server) bool {
	for _, v := range s.PerUser {
		if strings.EqualFold(v.Header, "Authorization") {
			return true
		}
	}
	return false
}

// wantedScopes returns the scopes of the configuration, or else those that the
// server requires. If the server has requested more scopes since, it adds those
// and the granted ones, so that no right is lost.
func wantedScopes(s *config.Server, a *authority, before *grant) []string {
	scopes := slices.Clone(s.Auth.Scopes)
	if len(scopes) == 0 {
		scopes = slices.Clone(a.scopes)
	}
	if len(before.Wanted) > 0 {
		scopes = union(union(scopes, before.Scopes), before.Wanted)
	}
	if slices.Contains(a.meta.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// Logout removes a grant, and revokes it at its issuer if possible.
func (k *Keeper) Logout(ctx context.Context, s *config.Server, user string) error {
	found, err := k.forget(s, user)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return ErrNotSignedIn
	}
	fetch, err := newFetch(s)
	if err != nil {
		return err
	}
	defer fetch.CloseIdleConnections()
	var errs []error
	for _, g := range found {
		x := exchange{fetch: fetch, grant: g}
		errs = append(errs, x.revoke(ctx))
	}
	return errors.Join(errs...)
}

// ErrNowhere is wrapped by the error of Login if the server names no place to sign
// in, and there is none at its own address.
var ErrNowhere = i18n.Errorf("it names no place to sign in", "它没有给出登录的地方")

// ErrNotSignedIn is the error of Logout if there is no grant.
var ErrNotSignedIn = i18n.Errorf("no user is signed in", "没有用户登录")
