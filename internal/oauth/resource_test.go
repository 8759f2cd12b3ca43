package oauth

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"mcp-all-in-one/internal/config"
)

// A resource is a server that requires tokens of an authServer and checks them with
// its keys.
type resource struct {
	*httptest.Server
	as *authServer

	mu       sync.Mutex
	seen     []string // Authorization headers
	bodies   []string
	refuse   map[string]bool // valid tokens that are refused
	needs    string          // the scope that a request needs
	metadata map[string]any
	named    string // resource_metadata; empty means the correct one, "-" none
}

func newResource(t *testing.T, as *authServer) *resource {
	t.Helper()
	rs := &resource{as: as, refuse: map[string]bool{}, metadata: map[string]any{}}
	rs.Server = httptest.NewServer(http.HandlerFunc(rs.serve))
	t.Cleanup(rs.Close)
	return rs
}

func (rs *resource) mcp() string { return rs.URL + "/mcp" }

func (rs *resource) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
		if r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
			http.NotFound(w, r)
			return
		}
		doc := map[string]any{"resource": rs.mcp(), "authorization_servers": []string{rs.as.URL}, "scopes_supported": []string{"read"}}
		rs.mu.Lock()
		maps.Copy(doc, rs.metadata)
		rs.mu.Unlock()
		reply(w, http.StatusOK, doc)
		return
	}
	body, _ := io.ReadAll(r.Body)
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	rs.mu.Lock()
	rs.seen = append(rs.seen, r.Header.Get("Authorization"))
	rs.bodies = append(rs.bodies, string(body))
	refused, needs, named := rs.refuse[token], rs.needs, rs.named
	rs.mu.Unlock()
	scope, err := rs.verify(r.Context(), token)
	switch {
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case err != nil || refused:
		switch named {
		case "":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+rs.URL+`/.well-known/oauth-protected-resource/mcp"`)
		case "-":
			w.Header().Set("WWW-Authenticate", "Bearer")
		default:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+named+`"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
	case needs != "" && !strings.Contains(" "+scope+" ", " "+needs+" "):
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, needs))
		w.WriteHeader(http.StatusForbidden)
	default:
		reply(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{}})
	}
}

// verify checks a token like a resource server: signature, issuer, audience, time.
func (rs *resource) verify(ctx context.Context, token string) (string, error) {
	keys := oidc.NewRemoteKeySet(ctx, rs.as.URL+"/keys")
	got, err := oidc.NewVerifier(rs.as.URL, keys, &oidc.Config{ClientID: rs.mcp(), SupportedSigningAlgs: []string{oidc.ES256}}).Verify(ctx, token)
	if err != nil {
		return "", err
	}
	var claims struct {
		Scope string `json:"scope"`
	}
	return claims.Scope, got.Claims(&claims)
}

func (rs *resource) tokens() []string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return append([]string(nil), rs.seen...)
}

// entry returns the configuration of a server at the resource.
func (rs *resource) entry(edit func(*config.Server)) *config.Server {
	s := &config.Server{Name: "hub", Schema: "default", Type: config.TypeHTTP, URL: rs.mcp(), Enabled: true}
	if edit != nil {
		edit(s)
	}
	return s
}

func newKeeper(t *testing.T, dir string) *Keeper {
	t.Helper()
	k := NewKeeper(t.Context(), Options{Dir: dir})
	t.Cleanup(k.Close)
	return k
}

// plain connects to servers directly and follows no redirects.
var plain http.RoundTripper = &http.Transport{}

// newHub returns an authorization server, and a server that trusts it.
func newHub(t *testing.T) (*authServer, *resource) {
	t.Helper()
	as := newAuthServer(t)
	return as, newResource(t, as)
}

func signIn(t *testing.T, k *Keeper, s *config.Server) {
	t.Helper()
	if _, err := login(t, k, s, ""); err != nil {
		t.Fatal(err)
	}
}

// login signs in with a browser that follows all redirects.
func login(t *testing.T, k *Keeper, s *config.Server, user string) (Status, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return k.Login(ctx, s, LoginOptions{User: user, Base: plain, Show: func(address string) {
		go func() {
			resp, err := browse(ctx, address)
			if err != nil || resp.StatusCode != http.StatusOK {
				// The authorization server did not redirect, or the gateway refused
				// the answer: the person gives up.
				cancel()
			}
		}()
	}})
}

// post sends one request through a transport.
func post(ctx context.Context, rt http.RoundTripper, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}`))
	if err != nil {
		return 0, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}
