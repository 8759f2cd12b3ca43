package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

// signedIn returns a keeper with a grant for a server, and the server.
func signedIn(t *testing.T) (*authServer, *resource, *Keeper, *config.Server) {
	t.Helper()
	as, rs := newHub(t)
	k, s := newKeeper(t, t.TempDir()), rs.entry(nil)
	signIn(t, k, s)
	return as, rs, k, s
}

func mustPost(t *testing.T, k *Keeper, s *config.Server) {
	t.Helper()
	if status, err := post(t.Context(), k.Transport(s, "", plain), s.URL); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
}

// refuseLast makes the server refuse the token that it received last.
func (rs *resource) refuseLast() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.refuse[strings.TrimPrefix(rs.seen[len(rs.seen)-1], "Bearer ")] = true
}

func TestRefreshBeforeExpiry(t *testing.T) {
	as, rs := newHub(t)
	as.lifetime = 30 * time.Second // less than ahead, so that it is refreshed before each use
	k, s := newKeeper(t, t.TempDir()), rs.entry(nil)
	signIn(t, k, s)
	as.set(func() { as.lifetime = time.Hour })
	mustPost(t, k, s)
	mustPost(t, k, s)
	if n := as.count("/token"); n != 2 {
		t.Errorf("%d token requests, want one for the login and one refresh", n)
	}
	if n := slices.Index(rs.tokens(), ""); n != 0 || len(rs.tokens()) != 3 {
		t.Errorf("the server saw %d requests", len(rs.tokens()))
	}
}

func TestRefreshOnceOn401(t *testing.T) {
	as, rs, k, s := signedIn(t)
	mustPost(t, k, s)
	rs.refuseLast()
	mustPost(t, k, s)
	if n := as.count("/token"); n != 2 {
		t.Errorf("%d token requests", n)
	}
	if n := len(rs.bodies); rs.bodies[n-1] != rs.bodies[n-2] || rs.bodies[n-1] == "" {
		t.Errorf("the request was sent again as %q", rs.bodies[n-1])
	}
}

func TestOneRefreshForMany(t *testing.T) {
	as, rs := newHub(t)
	dir := t.TempDir()
	k, s := newKeeper(t, dir), rs.entry(nil)
	signIn(t, k, s)
	mustPost(t, k, s)
	rs.refuseLast()
	gate := make(chan struct{})
	as.set(func() { as.gate = gate })
	other := newKeeper(t, dir) // another process with the same tokens
	var wg sync.WaitGroup
	errs := make(chan error, 32)
	for i := range 32 {
		wg.Go(func() {
			from := k
			if i%2 == 1 {
				from = other
			}
			status, err := post(t.Context(), from.Transport(s, "", plain), s.URL)
			if err == nil && status != http.StatusOK {
				err = errors.New(http.StatusText(status))
			}
			errs <- err
		})
	}
	close(gate)
	wg.Wait()
	for range 32 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := as.count("/token"); n != 2 {
		t.Errorf("%d token requests, want one for the login and one refresh", n)
	}
}

func TestRevokedGrant(t *testing.T) {
	as, rs := newHub(t)
	dir := t.TempDir()
	signed := make(chan struct{}, 1)
	k := NewKeeper(t.Context(), Options{Dir: dir, OnSignIn: func() { signed <- struct{}{} }})
	t.Cleanup(k.Close)
	s := rs.entry(nil)
	signIn(t, k, s)
	mustPost(t, k, s)
	rs.refuseLast()
	as.revokeAll()
	for range 2 {
		_, err := post(t.Context(), k.Transport(s, "", plain), s.URL)
		var need *SignInError
		if !errors.As(err, &need) || !need.Again || !strings.Contains(err.Error(), "sign in again: mcp-all-in-one auth login hub") {
			t.Fatalf("error %v", err)
		}
	}
	if n := as.count("/token"); n != 2 {
		t.Errorf("%d token requests: a grant that is over was tried again", n)
	}
	signIn(t, newKeeper(t, dir), s)
	must.Receive(t, "a word of the sign-in", signed)
	mustPost(t, k, s)
}

func TestRefreshFailsForNow(t *testing.T) {
	as, rs, k, s := signedIn(t)
	mustPost(t, k, s)
	rs.refuseLast()
	as.set(func() { as.status = func(url.Values) int { return http.StatusBadGateway } })
	_, err := post(t.Context(), k.Transport(s, "", plain), s.URL)
	var temporary *RefreshError
	if !errors.As(err, &temporary) || strings.Contains(err.Error(), "secret body") {
		t.Errorf("error %v", err)
	}
	as.set(func() { as.status = nil })
	mustPost(t, k, s)
}

// A token that is about to expire is still used while its issuer is unreachable.
func TestIssuerAwayBeforeExpiry(t *testing.T) {
	as, rs := newHub(t)
	as.lifetime = 30 * time.Second
	k, s := newKeeper(t, t.TempDir()), rs.entry(nil)
	signIn(t, k, s)
	as.set(func() { as.status = func(url.Values) int { return http.StatusServiceUnavailable } })
	mustPost(t, k, s)
}

func TestStepUp(t *testing.T) {
	as, rs, k, s := signedIn(t)
	rs.mu.Lock()
	rs.needs = "write"
	rs.mu.Unlock()
	_, err := post(t.Context(), k.Transport(s, "", plain), s.URL)
	var need *SignInError
	if !errors.As(err, &need) || need.Status != http.StatusForbidden || !slices.Equal(need.Scopes, []string{"write"}) {
		t.Fatalf("error %v", err)
	}
	signIn(t, k, s)
	if got := as.scopeOf(); !slices.Contains(got, "read") || !slices.Contains(got, "write") {
		t.Errorf("asked for %v, want what was granted and what is needed", got)
	}
	if as.count("/register") != 1 {
		t.Errorf("%d registrations for one redirect URI", as.count("/register"))
	}
	mustPost(t, k, s)
}

func TestWithoutGrant(t *testing.T) {
	_, rs := newHub(t)
	k := newKeeper(t, t.TempDir())
	t.Run("sign in", func(t *testing.T) {
		_, err := post(t.Context(), k.Transport(rs.entry(nil), "", plain), rs.mcp())
		var need *SignInError
		if !errors.As(err, &need) || need.Again {
			t.Errorf("error %v", err)
		}
	})
	t.Run("another kind of 401", func(t *testing.T) {
		srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		s := &config.Server{Name: "basic", URL: srv.URL}
		if status, err := post(t.Context(), k.Transport(s, "", plain), s.URL); err != nil || status != http.StatusUnauthorized {
			t.Errorf("status %d, %v", status, err)
		}
	})
	t.Run("credential of the configuration", func(t *testing.T) {
		s := rs.entry(func(s *config.Server) { s.Headers = map[string]config.Secret{"authorization": "Bearer mine"} })
		if k.Transport(s, "", plain) != plain {
			t.Error("it is replaced")
		}
	})
}

// The status of a grant contains no secret.
func TestStatusHoldsNoSecret(t *testing.T) {
	as, rs, k, s := signedIn(t)
	mustPost(t, k, s)
	text := must.JSON(t, k.Statuses(nil))
	token := strings.TrimPrefix(rs.tokens()[len(rs.tokens())-1], "Bearer ")
	if strings.Contains(string(text), token) || !strings.Contains(string(text), as.URL) {
		t.Errorf("fault/T33: %s", text)
	}
}

// A sign-in takes effect at once, even if its absence was cached.
func TestSignInCountsAtOnce(t *testing.T) {
	_, rs := newHub(t)
	k, s := newKeeper(t, t.TempDir()), rs.entry(nil)
	rt := k.Transport(s, "", plain)
	refused := func() {
		t.Helper()
		var need *SignInError
		if _, err := post(t.Context(), rt, s.URL); !errors.As(err, &need) {
			t.Errorf("without a grant: %v", err)
		}
	}
	refused()
	signIn(t, k, s)
	if status, err := post(t.Context(), rt, s.URL); err != nil || status != http.StatusOK {
		t.Errorf("after: status %d, %v", status, err)
	}
	k.forget(s, "")
	refused()
}
