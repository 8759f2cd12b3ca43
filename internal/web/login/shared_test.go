package login

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
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

// newPair returns replicas that have asked each other which logins have ended.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := strangers(t)
	learns(t, p.one)
	learns(t, p.two)
	p.now = p.now.Add(time.Second)
	return p
}

// strangers returns replicas that have just started.
func strangers(t *testing.T) *pair {
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
			Others: func(ctx context.Context, method, path string, body []byte) ([][]byte, bool) {
				if ctx.Err() != nil {
					return nil, false
				}
				peers := &api.Router{Routes: (*other).PeerRoutes(), Identify: func(*http.Request) (access.Principal, bool) { return access.Owner, true }}
				r := httptest.NewRequestWithContext(ctx, method, api.Prefix+path, bytes.NewReader(body))
				r.Header.Set(api.ChangeHeader, "1")
				w := httptest.NewRecorder()
				peers.ServeHTTP(w, r)
				if w.Code/100 != 2 {
					return nil, false
				}
				return [][]byte{w.Body.Bytes()}, true
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	p.one, p.two = open(&p.two), open(&p.one)
	return p
}

// learns lets a replica ask the others until it knows which logins have ended.
func learns(t *testing.T, l *Logins) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { l.Follow(ctx, ends) })
	must.Receive(t, "which logins have ended", l.shared.known)
	cancel()
	following.Wait()
}

// ends waits for other replicas where none are found.
func ends(ctx context.Context) { <-ctx.Done() }

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
		must.OK(t, p.one.Drop(key.ID))
		p.two.learn(t.Context())
		in(t, cookie, false)
		p.now = p.now.Add(time.Second)
		in(t, login(t, key), true)
	})
	t.Run("cluster/login/many logouts", func(t *testing.T) { // what is forgotten does not count again
		first := login(t, key)
		s, _ := p.one.open(first)
		must.OK(t, p.one.endShared(t.Context(), loginPrefix+s.ID, ended{s.Issued, s.Expires}))
		p.now = p.now.Add(time.Second)
		last := login(t, key)
		news := map[string]ended{}
		for i := range maxEnded + 10 {
			news[fmt.Sprint(loginPrefix, i)] = ended{s.Issued, s.Expires}
		}
		must.OK(t, p.one.add(news))
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
		must.OK(t, p.one.end(r))
		again, err := Open(p.two.opt)
		if err != nil {
			t.Fatal(err)
		}
		learns(t, again)
		if _, ok := who(again, cookie); ok {
			t.Error("a login that has ended counts after a restart")
		}
	})
	t.Run("cluster/login/client gone", func(t *testing.T) { // it has sent the logout and disconnected
		cookie := login(t, key)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, "POST", "/", nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		must.OK(t, p.one.end(r))
		in(t, cookie, false)
	})
	t.Run("cluster/login/not saved", func(t *testing.T) {
		code := p.one.NewCode(key)
		file := p.one.shared.file
		defer func() { p.one.shared.file = file }()
		p.one.shared.file = filepath.Join(t.TempDir(), "gone", "logouts.json", "x")
		must.Write(t, filepath.Dir(filepath.Dir(p.one.shared.file)), "")
		if err := p.one.Drop(key.ID); err == nil {
			t.Error("saved without a folder")
		}
		if _, ok := p.one.take(code); ok {
			t.Error("the code of a key that has ended counts")
		}
		p.now = p.now.Add(time.Second)
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
	p.one.opt.Others = func(context.Context, string, string, []byte) ([][]byte, bool) {
		asked.Add(1)
		<-all
		return nil, true
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

// TestKnown checks how long logins wait for the other replicas, and which of them
// count after all state was lost.
func TestKnown(t *testing.T) {
	boss := access.Principal{ID: "key:k1", Name: "k1", Grant: access.Grant{Admin: true}}
	before := func(t *testing.T, p *pair) string { // a cookie from before the start
		p.keys[boss.ID] = boss
		cookie, ok := p.one.seal(grant{boss, p.now.Add(loginLife)})
		if !ok {
			t.Fatal("not sealed")
		}
		return cookie
	}
	t.Run("cluster/login/not reached", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := strangers(t)
			cookie, began := before(t, p), time.Now()
			p.two.shared.fresh = false // it has a file
			reached, found := p.two.opt.Others, make(chan struct{})
			p.two.opt.Others = func(ctx context.Context, method, path string, body []byte) ([][]byte, bool) {
				select {
				case <-found:
					return reached(ctx, method, path, body)
				default:
					return nil, false
				}
			}
			p.one.settle(p.now)
			ctx, cancel := context.WithCancel(t.Context())
			var following sync.WaitGroup
			following.Go(func() {
				p.two.Follow(ctx, func(ctx context.Context) {
					select {
					case <-found:
						<-ctx.Done()
					default:
						select {
						case <-found:
						case <-ctx.Done():
						}
					}
				})
			})
			if _, ok := who(p.two, cookie); !ok || time.Since(began) < learnWait || time.Since(began) > learnWait+time.Second {
				t.Errorf("%v after %v", ok, time.Since(began))
			}
			synctest.Wait() // until it waits for others
			close(found)    // it is asked at once
			synctest.Wait()
			if _, ok := who(p.two, cookie); ok || time.Since(began) > learnWait+time.Second {
				t.Errorf("%v after %v", ok, time.Since(began))
			}
			cancel()
			following.Wait()
		})
	})
	t.Run("cluster/login/all is new", func(t *testing.T) {
		p := strangers(t)
		cookie := before(t, p)
		learns(t, p.one)
		learns(t, p.two)
		for _, l := range []*Logins{p.one, p.two} {
			if _, ok := who(l, cookie); ok {
				t.Error("a login counts although nobody knows whether it has ended")
			}
		}
		p.now = p.now.Add(time.Second)
		if _, ok := who(p.two, before(t, p)); !ok {
			t.Error("a new login does not count")
		}
	})
	t.Run("cluster/login/one is new", func(t *testing.T) {
		p := newPair(t)
		cookie := before(t, p)
		opt := p.two.opt
		opt.StateDir = t.TempDir()
		again, err := Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		learns(t, again)
		if _, ok := who(again, cookie); !ok {
			t.Error("a login does not count at a new replica")
		}
		opt.Others = func(context.Context, string, string, []byte) ([][]byte, bool) { return nil, true }
		if again, err = Open(opt); err != nil {
			t.Fatal(err)
		}
		learns(t, again)
		if _, ok := who(again, cookie); !ok {
			t.Error("a login does not count at a replica that knew it before")
		}
	})
}
