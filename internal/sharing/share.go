// Package sharing is a small OAuth authorization server for this gateway, for
// clients in the cloud that have no other way to get a key. A client asks for
// access, a person confirms it in the console, and the client gets a key that is
// bound to one schema and usually read-only. It implements OAuth 2.1 with PKCE,
// client ID metadata documents, dynamic registration (RFC 7591), RFC 8414, RFC
// 8707 and RFC 9207.
package sharing

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/safehttp"
)

const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	authorizePath = "/oauth/authorize"
	waitPath      = "/oauth/wait"
	tokenPath     = "/oauth/token"
	registerPath  = "/oauth/register"
)

// A Request asks a person to give a client access.
type Request struct {
	Host string // gets the access
	Name string // that the client gives itself; it proves nothing
	ID   string // address of the client's document; empty if it registered itself
	// Code is shown to the person at the client's browser, who enters it where the
	// request is confirmed. So a person does not confirm the request of a stranger.
	Code string
	config.Sharing
}

// A Server answers the requests of clients that want access.
type Server struct {
	policy func() *access.Policy
	// ask returns when a person has decided, or when ctx has ended.
	ask   func(ctx context.Context, r Request) bool
	log   *slog.Logger
	mark  string          // suffix of the ids of pages and of codes
	ctx   context.Context // ends the questions
	stop  context.CancelFunc
	fetch func(loopback bool) *http.Client

	fetching chan struct{} // bounds the documents that are fetched at once
	asking   sync.WaitGroup
	exchange sync.Mutex // held while a code is exchanged for a key

	mu      sync.Mutex
	waiting map[string]*attempt // by the id of the page that waits
	codes   map[string]*attempt // by code
}

// New returns a server for the policy. Call Close to end it. mark is a suffix for the
// ids of pages and for codes, by which other replicas know where to send requests.
func New(ctx context.Context, policy func() *access.Policy, ask func(context.Context, Request) bool, mark string, log *slog.Logger) *Server {
	ctx, stop := context.WithCancel(ctx)
	return &Server{policy: policy, ask: ask, log: log, mark: mark, ctx: ctx, stop: stop, fetch: fetcher,
		fetching: make(chan struct{}, maxFetches), waiting: map[string]*attempt{}, codes: map[string]*attempt{}}
}

// fetcher returns the client for documents of clients. They may be on this
// machine only if the gateway is shared on this machine only.
func fetcher(loopback bool) *http.Client {
	opt := safehttp.Options{MaxBody: maxDocument, Timeout: 5 * time.Second}
	if loopback {
		opt.Allow = safehttp.Loopback
	}
	c := safehttp.NewClient(opt)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// Close withdraws the open questions and waits for them.
func (s *Server) Close() {
	s.stop()
	s.asking.Wait()
}

// Serves reports whether a path belongs to the server, and whether other sites
// may lead a browser to it.
func (s *Server) Serves(path string) (ours, page bool) {
	page = path == authorizePath || path == waitPath
	return s.policy().Share.URL != "" && (page || slices.Contains([]string{metadataPath, tokenPath, registerPath}, path)), page
}

// Handle returns the id of the page, or the code, that a request is about, and the
// body with which another replica can answer it. It is empty for a request that any
// replica can answer.
func Handle(w http.ResponseWriter, r *http.Request) (handle string, body []byte) {
	switch path := r.URL.EscapedPath(); {
	case path == waitPath && r.Method == http.MethodGet:
		return r.URL.Query().Get("id"), nil
	case path == tokenPath && r.Method == http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, maxDocument)
		if err := r.ParseForm(); err != nil || repeats(r.PostForm) {
			return "", nil // it is refused
		}
		r.PostForm.Set("client_id", clientOf(r)) // it may be in a header that is not handed on
		return r.PostForm.Get("code"), []byte(r.PostForm.Encode())
	}
	return "", nil
}

// ServeHTTP answers one request. No path of it needs a credential.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conf := s.policy().Share
	path, method := r.URL.EscapedPath(), http.MethodGet
	if path == tokenPath || path == registerPath {
		method = http.MethodPost
	}
	if r.Method != method {
		w.Header().Set("Allow", method)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxDocument)
	switch path {
	case metadataPath:
		s.metadata(w, conf)
	case authorizePath:
		s.authorize(w, r, conf)
	case waitPath:
		s.wait(w, r)
	case tokenPath:
		s.token(w, r, conf)
	case registerPath:
		s.register(w, r)
	}
}

// metadata serves the metadata of RFC 8414.
func (s *Server) metadata(w http.ResponseWriter, conf config.Sharing) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // it is public, and clients in browsers need it
	answer(w, http.StatusOK, map[string]any{
		"issuer": conf.URL, "authorization_endpoint": conf.URL + authorizePath, "token_endpoint": conf.URL + tokenPath,
		"registration_endpoint": conf.URL + registerPath, "response_types_supported": []string{"code"}, "response_modes_supported": []string{"query"},
		"grant_types_supported": []string{"authorization_code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"}, "client_id_metadata_document_supported": true,
		"authorization_response_iss_parameter_supported": true, "scopes_supported": grantOf(conf).Scopes(),
	})
}

// grantOf returns what every client gets, whatever scopes it asks for.
func grantOf(conf config.Sharing) access.Grant {
	return access.Grant{Schemas: []string{conf.Schema}, ReadOnly: !conf.Write}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
}

// refuse answers with an error of OAuth.
func refuse(w http.ResponseWriter, code, text string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": text})
}
