package login

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/web/api"
)

// A pair is two replicas that share a secret and reach each other.
type pair struct {
	now  time.Time
	one  *Logins
	two  *Logins
	keys map[string]access.Principal // that are valid now
}

func newPair(t *testing.T) *pair {
	t.Helper()
	ring, err := seal.NewRing("test", strings.Repeat("secret", 8))
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{now: time.Unix(1_000_000, 0), keys: map[string]access.Principal{}}
	open := func(other **Logins) *Logins {
		l, err := Open(Options{
			StateDir: t.TempDir(), Box: ring.Box(seal.Login), Now: func() time.Time { return p.now }, Log: slog.New(slog.DiscardHandler),
			Current: func(who access.Principal) (access.Principal, bool) { now, ok := p.keys[who.ID]; return now, ok },
			Others: func(ctx context.Context, method, path string, body []byte) [][]byte {
				peers := &api.Router{Routes: (*other).PeerRoutes(), Identify: func(*http.Request) (access.Principal, bool) { return access.Owner, true }}
				r := httptest.NewRequestWithContext(ctx, method, api.Prefix+path, bytes.NewReader(body))
				r.Header.Set(api.ChangeHeader, "1")
				w := httptest.NewRecorder()
				peers.ServeHTTP(w, r)
				if w.Code/100 != 2 {
					return nil
				}
				return [][]byte{w.Body.Bytes()}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		close(l.shared.known)
		return l
	}
	p.one, p.two = open(&p.two), open(&p.one)
	return p
}

// who returns the principal of a cookie at a replica.
func who(l *Logins, cookie string) (access.Principal, bool) {
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
	return l.Identify(r)
}

func TestSharedLogins(t *testing.T) {
	p := newPair(t)
	key := access.Principal{ID: "key:k1", Name: "k1", Grant: access.Grant{Admin: true}}
	p.keys[key.ID] = key
	login := func(t *testing.T, who access.Principal) string {
		t.Helper()
		cookie, _, err := p.two.redeem(t.Context(), p.one.NewCode(who), "10.0.0.1")
		if err != nil || !strings.HasPrefix(cookie, sealedPrefix) {
			t.Fatalf("%q, %v", cookie, err)
		}
		return cookie
	}
	in := func(t *testing.T, cookie string, want bool) {
		t.Helper()
		for name, l := range map[string]*Logins{"one": p.one, "two": p.two} {
			if _, ok := who(l, cookie); ok != want {
				t.Errorf("at %s: %v, want %v", name, ok, want)
			}
		}
	}
	t.Run("cluster/login/narrowed", func(t *testing.T) {
		cookie := login(t, key)
		narrow := key
		narrow.Grant = access.Grant{ReadOnly: true}
		p.keys[key.ID] = narrow
		if got, ok := who(p.one, cookie); !ok || got.MayConfigure() {
			t.Errorf("%+v, %v", got, ok)
		}
		delete(p.keys, key.ID)
		in(t, cookie, false)
		p.keys[key.ID] = key
	})
	t.Run("cluster/login/expired", func(t *testing.T) {
		short := key
		short.Expires = p.now.Add(time.Hour)
		long, brief := login(t, key), login(t, short)
		in(t, brief, true)
		p.now = p.now.Add(time.Hour + time.Second)
		in(t, brief, false)
		in(t, long, true)
		p.now = p.now.Add(loginLife)
		in(t, long, false)
	})
	t.Run("cluster/login/dropped", func(t *testing.T) { // its credential was replaced
		cookie := login(t, key)
		p.now = p.now.Add(time.Second)
		if err := p.one.Drop(key.ID); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.two.Follow(ctx)
		in(t, cookie, false)
		p.now = p.now.Add(time.Second)
		in(t, login(t, key), true)
	})
	t.Run("cluster/login/many logouts", func(t *testing.T) { // what is forgotten does not count again
		first := login(t, key)
		s, _ := p.one.open(first)
		if err := p.one.endShared(t.Context(), loginPrefix+s.ID, ended{s.Issued, s.Expires}); err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(time.Second)
		last := login(t, key)
		news := map[string]ended{}
		for i := range maxEnded + 10 {
			news[fmt.Sprint(loginPrefix, i)] = ended{s.Issued, s.Expires}
		}
		if err := p.one.add(news); err != nil {
			t.Fatal(err)
		}
		if n := len(p.one.shared.ended); n > maxEnded+1 {
			t.Errorf("%d are kept", n)
		}
		in(t, first, false)
		in(t, last, true)
	})
	t.Run("cluster/login/restarted", func(t *testing.T) {
		cookie := login(t, key)
		r := httptest.NewRequest("POST", "/", nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		if err := p.one.end(r); err != nil {
			t.Fatal(err)
		}
		again, err := Open(p.two.opt)
		if err != nil {
			t.Fatal(err)
		}
		close(again.shared.known)
		if _, ok := who(again, cookie); ok {
			t.Error("a login that has ended counts after a restart")
		}
	})
	t.Run("cluster/login/guessed", func(t *testing.T) {
		for range maxFailures {
			if _, _, err := p.two.redeem(t.Context(), "guess", "10.0.0.9"); err != errWrongCode {
				t.Fatal(err)
			}
		}
		if _, _, err := p.two.redeem(t.Context(), p.one.NewCode(key), "10.0.0.9"); err != errTooMany {
			t.Errorf("= %v", err)
		}
	})
}

// TestGuessesAtOnce sends many wrong codes at the same time, while the other
// replica is asked about each.
func TestGuessesAtOnce(t *testing.T) {
	p := newPair(t)
	var asked atomic.Int32
	all := make(chan struct{})
	p.one.opt.Others = func(context.Context, string, string, []byte) [][]byte {
		asked.Add(1)
		<-all
		return nil
	}
	results := make(chan error, 5*maxFailures)
	for range 5 * maxFailures {
		go func() {
			_, _, err := p.one.redeem(t.Context(), "guess", "10.0.0.1")
			results <- err
		}()
	}
	for range 4 * maxFailures { // those that have to wait
		select {
		case err := <-results:
			if err != errTooMany {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of %d guesses are not refused", asked.Load(), 5*maxFailures)
		}
	}
	close(all)
	for range maxFailures {
		if err := <-results; err != errWrongCode {
			t.Error(err)
		}
	}
	if n := asked.Load(); n != maxFailures {
		t.Errorf("the other replica was asked %d times", n)
	}
}
