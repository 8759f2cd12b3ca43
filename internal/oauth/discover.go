package oauth

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/safehttp"
)

// maxIssuers limits the authorization servers that a server may name.
const maxIssuers = 16

// An authority is the authorization server of a server, and the resource and
// scopes that the server requires.
type authority struct {
	resource string
	scopes   []string
	meta     *oauthex.AuthServerMeta
	assumed  bool // nothing names it, so the server may want a key instead
}

// A finder looks for the authority of one server. The URLs that it fetches come
// from untrusted sources.
type finder struct {
	server *config.Server
	ask    string            // LoginOptions.Ask
	base   http.RoundTripper // for the server itself
	fetch  *http.Client      // for all other URLs
}

// newFetch returns the client for URLs in a server's metadata. It reaches public
// addresses, this machine if the server is on it, and the addresses in
// auth.allow.
func newFetch(s *config.Server) (*http.Client, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, i18n.Errorf("the URL of %q: %w", "%q 的 URL：%w", s.Name, err)
	}
	var allow []netip.Prefix
	if config.IsLoopback(u.Hostname()) {
		allow = append(allow, safehttp.Loopback...)
	} else if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !safehttp.Public(addr) {
		allow = append(allow, netip.PrefixFrom(addr, addr.BitLen()))
	}
	for _, text := range s.Auth.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, i18n.Errorf("auth.allow of %q: %w", "%q 的 auth.allow：%w", s.Name, err)
		}
		allow = append(allow, p)
	}
	return safehttp.NewClient(safehttp.Options{Allow: allow}), nil
}

// find asks the server for its authorization server, and fetches the metadata of
// that one.
func (f *finder) find(ctx context.Context) (*authority, error) {
	challenge, err := f.challenge(ctx)
	if err != nil {
		return nil, err
	}
	a := &authority{resource: f.server.URL, scopes: strings.Fields(challenge["scope"])}
	meta, err := f.resourceMetadata(ctx, challenge["resource_metadata"])
	if err != nil {
		return nil, err
	}
	issuer := origin(f.server.URL) // 2025-03-26: the server is its own authorization server
	if meta != nil {
		a.resource = meta.Resource
		if len(a.scopes) == 0 {
			a.scopes = meta.ScopesSupported
		}
		if issuer, err = f.choose(meta.AuthorizationServers); err != nil {
			return nil, err
		}
	}
	if want := f.server.Auth.Issuer; want != "" && !sameIssuer(want, issuer) {
		return nil, untrusted("it names the issuer %q, and auth.issuer says %q", "它声明的签发者是 %q，而 auth.issuer 为 %q", issuer, want)
	}
	a.meta, err = auth.GetAuthServerMetadata(ctx, issuer, f.fetch)
	switch {
	case err != nil:
		return nil, untrusted("%v", "%v", err)
	case a.meta == nil && meta != nil:
		return nil, untrusted("%s publishes no metadata", "%s 没有发布元数据", issuer)
	case a.meta == nil:
		a.assumed = true
		a.meta = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token",
			RegistrationEndpoint: issuer + "/register", CodeChallengeMethodsSupported: []string{"S256"},
		}
	}
	return a, f.check(a.meta)
}

// challenge sends a request without a token and returns the parameters of the
// challenge.
func (f *finder) challenge(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, safehttp.Timeout)
	defer cancel()
	method, ping := http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if f.ask != "" {
		method, ping = http.MethodGet, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, f.server.URL+f.ask, strings.NewReader(ping))
	if err != nil {
		return nil, i18n.Errorf("asking %q: %w", "询问 %q 失败：%w", f.server.Name, err)
	}
	for name, value := range f.server.Headers {
		req.Header.Set(name, value.Reveal())
	}
	if ping != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := f.base.RoundTrip(req)
	if err != nil {
		return nil, i18n.Errorf("asking %q: %w", "询问 %q 失败：%w", f.server.Name, err)
	}
	defer resp.Body.Close()
	return bearerChallenge(resp), nil
}

// bearerChallenge returns the parameters of the first Bearer challenge; nil if
// there is none.
func bearerChallenge(resp *http.Response) map[string]string {
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	for _, c := range list {
		if c.Scheme == "bearer" {
			if c.Params == nil {
				return map[string]string{}
			}
			return c.Params
		}
	}
	return nil
}

// resourceMetadata fetches the metadata of RFC 9728; nil if the server publishes
// none. It looks only at the server's own origin.
func (f *finder) resourceMetadata(ctx context.Context, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(f.server.URL + f.ask)
	if err != nil {
		return nil, i18n.Errorf("the URL of %q: %w", "%q 的 URL：%w", f.server.Name, err)
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	places := []string{origin(f.server.URL) + wellKnown}
	if path := strings.TrimRight(u.EscapedPath(), "/"); path != "" {
		places = append([]string{origin(f.server.URL) + wellKnown + path}, places...)
	}
	if named != "" {
		if origin(named) != origin(f.server.URL) {
			return nil, untrusted("its resource_metadata is at another origin", "它的 resource_metadata 属于其他来源")
		}
		places = []string{named}
	}
	for _, place := range places {
		meta := new(oauthex.ProtectedResourceMetadata)
		found, err := f.getJSON(ctx, place, meta)
		if err != nil {
			return nil, untrusted("%v", "%v", err)
		}
		if !found {
			continue
		}
		if !covers(meta.Resource, u) && !f.below(meta.Resource) {
			return nil, untrusted("its metadata is about %q", "它的元数据描述的是 %q", meta.Resource)
		}
		return meta, nil
	}
	return nil, nil
}

// getJSON reports false if the document does not exist.
func (f *finder) getJSON(ctx context.Context, place string, into any) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := f.fetch.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, i18n.Errorf("%s answered %d", "%s 返回 %d", place, resp.StatusCode)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, i18n.Errorf("what %s answered is not its metadata", "%s 返回的内容不是它的元数据", place)
	}
	return true, nil
}

// choose returns the configured issuer if the list has it, otherwise the first
// one.
func (f *finder) choose(issuers []string) (string, error) {
	if len(issuers) == 0 || len(issuers) > maxIssuers {
		return "", untrusted("it names %d authorization servers", "它声明了 %d 个授权服务器", len(issuers))
	}
	for _, issuer := range issuers {
		if err := f.usable(issuer); err != nil {
			return "", untrusted("authorization server %q: %v", "授权服务器 %q：%v", issuer, err)
		}
	}
	if i := slices.IndexFunc(issuers, func(s string) bool { return sameIssuer(s, f.server.Auth.Issuer) }); i >= 0 {
		return issuers[i], nil
	}
	return issuers[0], nil
}

// check refuses an authorization server that lacks required protections.
func (f *finder) check(m *oauthex.AuthServerMeta) error {
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return untrusted("%s does not support PKCE with S256", "%s 不支持 S256 的 PKCE", m.Issuer)
	}
	for _, e := range []struct{ name, url string }{
		{"authorization_endpoint", m.AuthorizationEndpoint}, {"token_endpoint", m.TokenEndpoint},
	} {
		if err := f.usable(e.url); err != nil {
			return untrusted("%s %q: %v", "%s %q：%v", e.name, e.url, err)
		}
	}
	if m.RevocationEndpoint != "" && f.usable(m.RevocationEndpoint) != nil {
		m.RevocationEndpoint = ""
	}
	return nil
}

// usable returns an error if a URL must not be fetched or shown to a browser.
func (f *finder) usable(raw string) error {
	opt := safehttp.Options{}
	if u, err := url.Parse(f.server.URL); err == nil && config.IsLoopback(u.Hostname()) {
		opt.Allow = safehttp.Loopback
	}
	for _, text := range f.server.Auth.Allow {
		if p, err := netip.ParsePrefix(text); err == nil {
			opt.Allow = append(opt.Allow[:len(opt.Allow):len(opt.Allow)], p)
		}
	}
	return safehttp.CheckURL(raw, opt)
}

// covers reports whether a resource identifier names the server, or a parent path
// of it at the same origin.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.RawQuery != "" || r.Fragment != "" || origin(resource) != origin(server.String()) {
		return false
	}
	path, own := strings.TrimRight(r.EscapedPath(), "/"), strings.TrimRight(server.EscapedPath(), "/")
	return path == own || strings.HasPrefix(own, path+"/")
}

// below reports whether a resource is below the URL of a server that does not speak
// MCP: a person configured all that is there.
func (f *finder) below(resource string) bool {
	r, err := url.Parse(resource)
	return f.ask != "" && err == nil && r.RawQuery == "" && r.Fragment == "" && covers(f.server.URL, r)
}

// origin returns the scheme, host and port of a URL; empty if it has none.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
