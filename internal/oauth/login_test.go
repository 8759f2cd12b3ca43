package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestLogin(t *testing.T) {
	tests := []struct {
		name   string
		as     func(*authServer)
		entry  func(*config.Server)
		scopes []string
		client string // "" for a registered client
	}{
		{name: "dynamic client", scopes: []string{"read", "offline_access"}},
		{
			name:   "registered beforehand, secret in the form",
			as:     func(as *authServer) { as.metadata["registration_endpoint"] = nil },
			entry:  func(s *config.Server) { s.Auth.ClientID, s.Auth.ClientSecret, s.Auth.Port = "known", "hush", freePort },
			client: "known", scopes: []string{"read", "offline_access"},
		},
		{
			name: "registered beforehand, secret in the header",
			as: func(as *authServer) {
				as.metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
			},
			entry:  func(s *config.Server) { s.Auth.ClientID, s.Auth.ClientSecret, s.Auth.Port = "known", "hush", freePort },
			client: "known", scopes: []string{"read", "offline_access"},
		},
		{
			name: "client metadata document",
			as: func(as *authServer) {
				as.metadata["client_id_metadata_document_supported"] = true
				as.metadata["registration_endpoint"] = nil
			},
			entry: func(s *config.Server) {
				s.Auth.ClientID, s.Auth.Port = "https://app.example/client.json", freePort
			},
			client: "https://app.example/client.json", scopes: []string{"read", "offline_access"},
		},
		{
			name:   "document that the issuer does not read",
			entry:  func(s *config.Server) { s.Auth.ClientID = "https://app.example/client.json" },
			scopes: []string{"read", "offline_access"},
		},
		{
			name:   "scopes of the configuration",
			as:     func(as *authServer) { as.metadata["scopes_supported"] = []string{"read", "write"} },
			entry:  func(s *config.Server) { s.Auth.Scopes = []string{"write"} },
			scopes: []string{"write"},
		},
		{
			name: "no iss promised",
			as: func(as *authServer) {
				as.metadata["authorization_response_iss_parameter_supported"] = nil
			},
			scopes: []string{"read", "offline_access"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			as := newAuthServer(t)
			rs := newResource(t, as)
			if tt.as != nil {
				tt.as(as)
			}
			s := rs.entry(tt.entry)
			if s.Auth.Port == freePort {
				port := mcptest.FreePort(t)
				s.Auth.Port, _ = strconv.Atoi(port)
				redirect := "http://127.0.0.1:" + port + "/callback"
				as.clients[s.Auth.ClientID] = registered{s.Auth.ClientSecret.Reveal(), []string{redirect}}
			}
			k := newKeeper(t, t.TempDir())
			got, err := login(t, k, s, "")
			if err != nil {
				t.Fatal(err)
			}
			if tt.client != "" && got.Client != tt.client {
				t.Errorf("client %q, want %q", got.Client, tt.client)
			}
			if tt.client == "" && as.count("/register") != 1 {
				t.Errorf("%d registrations", as.count("/register"))
			}
			if diff := cmp.Diff(tt.scopes, got.Scopes); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			if status, err := post(t.Context(), k.Transport(s, "", plain), s.URL); err != nil || status != http.StatusOK {
				t.Errorf("a request with the token: %d, %v", status, err)
			}
		})
	}
}

// A server of 2025-03-26 is its own authorization server and may publish no
// metadata.
func TestLoginWithoutMetadata(t *testing.T) {
	as := newAuthServer(t)
	old := http.NewServeMux()
	old.Handle("/.well-known/", http.NotFoundHandler())
	old.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	old.Handle("/", as.Config.Handler)
	rs := &resource{as: as}
	rs.Server = newServer(t, old)
	as.set(func() { as.answer = func(q url.Values) { q.Del("iss") } })
	k := newKeeper(t, t.TempDir())
	s := rs.entry(nil)
	signIn(t, k, s)
	if status, err := post(t.Context(), k.Transport(s, "", plain), s.URL); err != nil || status != http.StatusOK {
		t.Errorf("a request with the token: %d, %v", status, err)
	}
}

func TestTokensAreKept(t *testing.T) {
	as, rs := newHub(t)
	dir := t.TempDir()
	s := rs.entry(nil)
	signIn(t, newKeeper(t, dir), s)
	t.Run("by another process", func(t *testing.T) {
		if status, err := post(t.Context(), newKeeper(t, dir).Transport(s, "", plain), s.URL); err != nil || status != http.StatusOK {
			t.Errorf("%d, %v", status, err)
		}
	})
	t.Run("encrypted", func(t *testing.T) {
		token := strings.TrimPrefix(rs.tokens()[len(rs.tokens())-1], "Bearer ")
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) < 2 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, file := range files {
			data := must.Read(t, file)
			if strings.Contains(data, token) || strings.Contains(data, as.URL) {
				t.Errorf("%s holds the token in the clear", file)
			}
		}
	})
	t.Run("not for another URL", func(t *testing.T) {
		other := newResource(t, as)
		moved := *s
		moved.URL = other.mcp()
		_, err := post(t.Context(), newKeeper(t, dir).Transport(&moved, "", plain), moved.URL)
		if _, ok := errors.AsType[*SignInError](err); !ok {
			t.Errorf("error %v", err)
		}
		if got := strings.Join(other.tokens(), ""); got != "" {
			t.Errorf("the other URL was told %q", got)
		}
	})
	t.Run("not for another issuer", func(t *testing.T) {
		pinned := *s
		pinned.Auth.Issuer = "https://elsewhere.example"
		var need *SignInError
		if _, err := post(t.Context(), newKeeper(t, dir).Transport(&pinned, "", plain), s.URL); !errors.As(err, &need) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("per user", func(t *testing.T) {
		k := newKeeper(t, dir)
		var need *SignInError
		if _, err := post(t.Context(), k.Transport(s, "key:bob", plain), s.URL); !errors.As(err, &need) || need.User != "key:bob" {
			t.Errorf("error %v", err)
		}
		if _, err := login(t, k, s, "key:bob"); err != nil {
			t.Fatal(err)
		}
		if n := len(k.Statuses(s)); n != 2 {
			t.Errorf("%d grants", n)
		}
	})
	t.Run("logout", func(t *testing.T) {
		k := newKeeper(t, dir)
		must.OK(t, k.Logout(t.Context(), s, ""))
		if as.count("/revoke") != 1 {
			t.Errorf("%d revocations", as.count("/revoke"))
		}
		if err := k.Logout(t.Context(), s, ""); !errors.Is(err, ErrNotSignedIn) {
			t.Errorf("second logout: %v", err)
		}
	})
}
