package oauth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest"
)

// fetchSites are the places where an untrusted address is fetched or shown to a
// browser. Each must refuse a private address.
var fetchSites = map[string]func(ctx context.Context, f *finder, place string) error{
	"resource metadata": func(ctx context.Context, f *finder, place string) error {
		if place == "" {
			return errUntrusted // empty means absent
		}
		_, err := f.resourceMetadata(ctx, place)
		return err
	},
	"document": func(ctx context.Context, f *finder, place string) error {
		_, err := f.getJSON(ctx, place, new(any))
		return err
	},
	"issuer": func(ctx context.Context, f *finder, place string) error {
		_, err := f.choose([]string{place})
		return err
	},
	"issuer metadata": func(ctx context.Context, f *finder, place string) error {
		meta, err := auth.GetAuthServerMetadata(ctx, place, f.fetch)
		if err == nil && meta == nil {
			return errUntrusted // no metadata was found there
		}
		return err
	},
	"registration": func(ctx context.Context, f *finder, place string) error {
		if place == "" {
			return errUntrusted
		}
		_, err := f.client(ctx, &oauthex.AuthServerMeta{RegistrationEndpoint: place}, "http://127.0.0.1/callback", nil)
		return err
	},
	"authorization": func(_ context.Context, f *finder, place string) error {
		return f.check(&oauthex.AuthServerMeta{CodeChallengeMethodsSupported: []string{"S256"}, TokenEndpoint: "https://as.example/token", AuthorizationEndpoint: place})
	},
	"client document": func(_ context.Context, _ *finder, place string) error { return checkDocument(place) },
	"token": func(ctx context.Context, f *finder, place string) error {
		return granted(f, place).redeem(ctx, "code", "verifier")
	},
	"refresh": func(ctx context.Context, f *finder, place string) error { return granted(f, place).refresh(ctx) },
	"revocation": func(ctx context.Context, f *finder, place string) error {
		if place == "" {
			return errUntrusted
		}
		return granted(f, place).revoke(ctx)
	},
}

func granted(f *finder, place string) *exchange {
	return &exchange{fetch: f.fetch, grant: &grant{TokenURL: place, RevokeURL: place, Resource: f.server.URL, Access: "a", Refresh: "r"}}
}

// A server on another machine must not make the gateway connect to a canary on this
// machine.
func TestFetchesReachNothingPrivate(t *testing.T) {
	canary := mcptest.NewCanary(t)
	for site, fetch := range fetchSites {
		t.Run("fault/T27/"+site, func(t *testing.T) {
			f := newFinder(t, &config.Server{Name: "hub", URL: "https://hub.example/mcp"})
			for _, form := range canary.Forms {
				if fetch(t.Context(), f, form) == nil {
					t.Errorf("%q is accepted", form)
				}
			}
			t.Logf("%d forms", len(canary.Forms))
		})
	}
}

// Nor may an authorization server in an allowed network, by a redirect.
func TestRedirectsReachNothingPrivate(t *testing.T) {
	canary := mcptest.NewCanary(t)
	var to string
	var status int
	as := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}))
	as.Listener.Close()
	as.Listener = mcptest.ListenElsewhere(t)
	as.Start()
	t.Cleanup(as.Close)
	for _, site := range []string{"document", "issuer metadata", "registration", "token", "refresh", "revocation"} {
		t.Run("fault/T27/redirect/"+site, func(t *testing.T) {
			f := newFinder(t, &config.Server{Name: "hub", URL: "https://hub.example/mcp", Auth: config.Auth{Allow: []string{"127.0.0.2/32"}}})
			for _, status = range []int{301, 302, 303, 307, 308} {
				for _, to = range canary.Forms {
					if fetchSites[site](t.Context(), f, as.URL) == nil {
						t.Errorf("a redirect %d to %q is followed", status, to)
					}
				}
			}
		})
	}
}

func newFinder(t *testing.T, s *config.Server) *finder {
	t.Helper()
	fetch, err := newFetch(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fetch.CloseIdleConnections)
	return &finder{server: s, fetch: fetch, base: plain}
}
