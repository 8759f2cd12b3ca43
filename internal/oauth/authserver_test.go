package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// An authServer is an authorization server: metadata, registration, consent, tokens
// with rotation, revocation, keys. It consents to everything, checks everything
// that OAuth 2.1 requires, and can be told to misbehave.
type authServer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu       sync.Mutex
	clients  map[string]registered
	codes    map[string]issued
	refreshs map[string]issued
	requests map[string]int // by path
	lifetime time.Duration

	metadata map[string]any            // replaces members; nil removes one
	answer   func(url.Values)          // changes the redirect back to the gateway
	respond  func(map[string]any) any  // changes a token response
	status   func(form url.Values) int // a status other than 200 for a token request
	last     url.Values                // the last authorization request
	gate     chan struct{}             // if set, a refresh blocks until it is closed
}

type registered struct {
	secret    string
	redirects []string
}

type issued struct {
	client, redirect, challenge, resource, scope string
}

func newAuthServer(t *testing.T) *authServer {
	t.Helper()
	as := &authServer{
		clients: map[string]registered{}, codes: map[string]issued{}, refreshs: map[string]issued{},
		requests: map[string]int{}, lifetime: time.Hour, metadata: map[string]any{},
	}
	var err error
	if as.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", as.serveMetadata)
	mux.HandleFunc("GET /keys", as.serveKeys)
	mux.HandleFunc("POST /register", as.serveRegister)
	mux.HandleFunc("GET /authorize", as.serveAuthorize)
	mux.HandleFunc("POST /token", as.serveToken)
	mux.HandleFunc("POST /revoke", as.serveRevoke)
	as.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		as.mu.Lock()
		as.requests[r.URL.Path]++
		as.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(as.Close)
	return as
}

func (as *authServer) count(path string) int {
	as.mu.Lock()
	defer as.mu.Unlock()
	return as.requests[path]
}

func (as *authServer) set(change func()) {
	as.mu.Lock()
	defer as.mu.Unlock()
	change()
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (as *authServer) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	doc := map[string]any{
		"issuer": as.URL, "authorization_endpoint": as.URL + "/authorize", "token_endpoint": as.URL + "/token",
		"registration_endpoint": as.URL + "/register", "revocation_endpoint": as.URL + "/revoke", "jwks_uri": as.URL + "/keys",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic", "client_secret_post"},
		"scopes_supported":                               []string{"read", "write", "offline_access"},
		"authorization_response_iss_parameter_supported": true,
	}
	as.mu.Lock()
	maps.Copy(doc, as.metadata)
	as.mu.Unlock()
	maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	reply(w, http.StatusOK, doc)
}

func (as *authServer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, mcptest.KeySet(as.key))
}

func (as *authServer) serveRegister(w http.ResponseWriter, r *http.Request) {
	var doc struct {
		RedirectURIs []string `json:"redirect_uris"`
		Type         string   `json:"application_type"`
		Method       string   `json:"token_endpoint_auth_method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&doc); err != nil || len(doc.RedirectURIs) != 1 || doc.Type != "native" {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
		return
	}
	id, secret := rand.Text(), ""
	if doc.Method != "none" {
		secret = rand.Text()
	}
	as.set(func() { as.clients[id] = registered{secret, doc.RedirectURIs} })
	reply(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_secret": secret, "redirect_uris": doc.RedirectURIs, "token_endpoint_auth_method": doc.Method,
	})
}

func (as *authServer) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	as.mu.Lock()
	defer as.mu.Unlock()
	as.last = q
	c, known := as.clients[q.Get("client_id")]
	if !known || !slices.Contains(c.redirects, q.Get("redirect_uri")) {
		http.Error(w, "unknown client or redirect_uri", http.StatusBadRequest)
		return
	}
	if q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" || q.Get("resource") == "" || q.Get("state") == "" {
		http.Error(w, "the request is not one of OAuth 2.1", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	as.codes[code] = issued{q.Get("client_id"), q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("resource"), q.Get("scope")}
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {as.URL}}
	if as.answer != nil {
		as.answer(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (as *authServer) serveToken(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	as.mu.Lock()
	gate, status := as.gate, as.status
	as.mu.Unlock()
	if gate != nil && r.Form.Get("grant_type") == "refresh_token" {
		<-gate
	}
	if status != nil {
		if code := status(r.Form); code != http.StatusOK {
			reply(w, code, map[string]string{"note": "secret body"})
			return
		}
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	got, err := as.redeemLocked(r)
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	refresh := rand.Text()
	as.refreshs[refresh] = got
	doc := map[string]any{
		"access_token": as.sign(got), "token_type": "Bearer", "expires_in": int(as.lifetime.Seconds()),
		"refresh_token": refresh, "scope": got.scope,
	}
	var v any = doc
	if as.respond != nil {
		v = as.respond(doc)
	}
	reply(w, http.StatusOK, v)
}

func (as *authServer) redeemLocked(r *http.Request) (issued, error) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	if c, known := as.clients[id]; !known || c.secret != secret {
		return issued{}, errors.New("invalid_client")
	}
	var got issued
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		code := r.Form.Get("code")
		got = as.codes[code]
		delete(as.codes, code)
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if got.client == "" || mcptest.Base64URL(sum[:]) != got.challenge || r.Form.Get("redirect_uri") != got.redirect {
			return issued{}, errors.New("invalid_grant")
		}
	case "refresh_token":
		token := r.Form.Get("refresh_token")
		got = as.refreshs[token]
		delete(as.refreshs, token) // valid once
	}
	if got.client == "" || got.client != id {
		return issued{}, errors.New("invalid_grant")
	}
	if r.Form.Get("resource") != got.resource {
		return issued{}, errors.New("invalid_target")
	}
	return got, nil
}

func (as *authServer) serveRevoke(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	as.set(func() { delete(as.refreshs, r.Form.Get("token")) })
	w.WriteHeader(http.StatusOK)
}

// sign makes an access token: a JWT for the resource.
func (as *authServer) sign(i issued) string {
	now := time.Now()
	return mcptest.SignToken(as.key, map[string]any{
		"iss": as.URL, "aud": i.resource, "sub": "alice", "client_id": i.client, "scope": i.scope,
		"iat": now.Unix(), "exp": now.Add(as.lifetime).Unix(), "jti": rand.Text(),
	})
}

// revokeAll revokes every grant.
func (as *authServer) revokeAll() {
	as.set(func() { clear(as.refreshs) })
}

// browse acts as the person's browser: it opens the address and follows redirects.
func browse(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return resp, err
}

// scopeOf returns the scopes of the last authorization request.
func (as *authServer) scopeOf() []string {
	as.mu.Lock()
	defer as.mu.Unlock()
	return strings.Fields(as.last.Get("scope"))
}
