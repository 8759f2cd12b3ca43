package access

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// skew is how far the clock of the authorization server may be off.
const skew = 60 * time.Second

// algorithms are all asymmetric. With a symmetric algorithm, or none, anyone who
// knows the public key could sign.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// A ResourceServer accepts the tokens of one authorization server, as specified
// by OAuth 2.1 and RFC 9728.
type ResourceServer struct {
	conf      config.OAuth
	resource  *url.URL
	audiences []string // in canonical form
	keys      *issuerKeys
	verifier  *oidc.IDTokenVerifier
	now       func() time.Time
}

// NewResourceServer returns the resource server of the configuration. fetch gets
// the issuer's metadata and keys; nil allows only public addresses, and this
// machine if the issuer is on it. Nothing is fetched before the first token.
func NewResourceServer(conf config.OAuth, fetch *http.Client) (*ResourceServer, error) {
	resource, err := url.Parse(conf.Resource)
	if err != nil || resource.Host == "" || resource.Fragment != "" || (resource.Scheme != "https" && resource.Scheme != "http") {
		return nil, i18n.Errorf("access.oauth.resource %q is not a web address: write the URL of this gateway, such as https://gateway.example.com/mcp", "access.oauth.resource %q 不是网址：请写本网关的 URL，如 https://gateway.example.com/mcp", conf.Resource)
	}
	issuer, err := url.Parse(conf.Issuer)
	if err != nil || issuer.Host == "" {
		return nil, i18n.Errorf("access.oauth.issuer %q is not a URL", "access.oauth.issuer %q 不是 URL", conf.Issuer)
	}
	if fetch == nil {
		var opt safehttp.Options
		if config.IsLoopback(issuer.Hostname()) {
			opt.Allow = safehttp.Loopback
		}
		fetch = safehttp.NewClient(opt)
	}
	rs := &ResourceServer{conf: conf, resource: resource, now: time.Now}
	for _, audience := range append([]string{conf.Resource}, conf.Audience...) {
		rs.audiences = append(rs.audiences, canonical(audience))
	}
	rs.keys = &issuerKeys{issuer: conf.Issuer, jwks: conf.JWKS, fetch: fetch}
	rs.verifier = oidc.NewVerifier(conf.Issuer, rs.keys, &oidc.Config{
		SupportedSigningAlgs: algorithms,
		SkipClientIDCheck:    true, // verify compares canonical forms
		SkipExpiryCheck:      true, // verify allows less skew
	})
	return rs, nil
}

// NewSharer returns a resource server whose tokens are keys of this gateway. It
// only tells clients where to get them.
func NewSharer(conf config.Sharing) (*ResourceServer, error) {
	resource, err := url.Parse(conf.Resource())
	if err != nil {
		return nil, err
	}
	return &ResourceServer{conf: config.OAuth{Issuer: conf.URL, Resource: conf.Resource()}, resource: resource}, nil
}

// claims are the claims that we use.
type claims struct {
	Subject   string    `json:"sub"`
	Expires   *numeric  `json:"exp"`
	NotBefore *numeric  `json:"nbf"`
	Client    string    `json:"client_id"`
	Name      string    `json:"name"`
	Scope     scopeList `json:"scope"`
	Scp       scopeList `json:"scp"`
}

// numeric is a date in seconds since 1970.
type numeric float64

func (n numeric) time() time.Time { return time.UnixMilli(int64(float64(n) * 1000)) }

// scopeList is a space-separated string or an array.
type scopeList []string

func (s *scopeList) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// authenticate checks a token. Every defect of a token has the same answer; a
// valid token that lacks a scope has another.
func (rs *ResourceServer) authenticate(ctx context.Context, token string) (Principal, *Refusal) {
	if rs.verifier == nil {
		return Principal{}, &Refusal{Status: http.StatusUnauthorized, Challenge: rs.challenge("invalid_token"), Reason: "the key is unknown, expired or revoked"}
	}
	got, err := rs.verify(ctx, token)
	if err != nil {
		reason := "the token is not valid"
		if errors.Is(err, errNoKeys) {
			reason = "the token cannot be checked now: the issuer's keys cannot be fetched"
		}
		return Principal{}, &Refusal{Status: http.StatusUnauthorized, Challenge: rs.challenge("invalid_token"), Reason: reason}
	}
	scopes := append(got.Scope, got.Scp...)
	for _, needed := range rs.conf.Scopes {
		if !slices.Contains(scopes, needed) {
			return Principal{}, &Refusal{Status: http.StatusForbidden, Challenge: rs.challenge("insufficient_scope"),
				Reason: "the token lacks the scope " + needed + "; required scopes: " + strings.Join(rs.conf.Scopes, " ")}
		}
	}
	p := Principal{ID: tokenIDPrefix + got.Subject, Name: got.Subject, Expires: got.Expires.time(), Grant: rs.grant(scopes)}
	if got.Name != "" {
		p.Name = got.Name
	} else if got.Client != "" {
		p.Name = got.Client
	}
	return p, nil
}

// grant returns the restrictions in a token's scopes. Unknown scopes are ignored:
// they are meant for other services.
func (rs *ResourceServer) grant(scopes []string) Grant {
	var ours []string
	for _, scope := range scopes {
		if _, err := ParseScopes([]string{scope}); err == nil && scope != "admin" {
			ours = append(ours, scope)
		}
	}
	slices.Sort(ours) // an issuer may list them in any order, and twice
	grant, _ := ParseScopes(slices.Compact(ours))
	grant.Admin = rs.conf.AdminScope != "" && slices.Contains(scopes, rs.conf.AdminScope)
	return grant
}

func (rs *ResourceServer) verify(ctx context.Context, raw string) (*claims, error) {
	token, err := rs.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(token.Audience, func(a string) bool { return slices.Contains(rs.audiences, canonical(a)) }) {
		return nil, i18n.Errorf("the token was issued for another resource (aud)", "令牌是发给其他资源的（aud）")
	}
	var got claims
	if err := token.Claims(&got); err != nil {
		return nil, err
	}
	now := rs.now()
	switch {
	case got.Subject == "":
		return nil, i18n.Errorf("the token has no subject (sub)", "令牌没有主体（sub）")
	case got.Expires == nil || now.After(got.Expires.time().Add(skew)):
		return nil, i18n.Errorf("the token has expired", "令牌已过期")
	case got.NotBefore != nil && now.Add(skew).Before(got.NotBefore.time()):
		return nil, i18n.Errorf("the token is not valid yet", "令牌尚未生效")
	}
	return &got, nil
}

// canonical normalizes a resource: the case of scheme and host, the default port,
// a slash at the end.
func canonical(resource string) string {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" {
		return resource
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	if u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":80")
	}
	return strings.TrimSuffix(u.String(), "/")
}
