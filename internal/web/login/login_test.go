package login

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
)

var admin = access.Owner

// opened returns logins that can be opened.
func opened(t *testing.T, o Options) *Logins {
	t.Helper()
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCodesExpire(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	l := opened(t, Options{Now: func() time.Time { return now }})
	old := l.NewCode(admin)
	now = now.Add(codeLife + time.Second)
	if _, _, err := l.redeem(t.Context(), old, "10.0.0.1"); err != errWrongCode {
		t.Errorf("redeem after ten minutes = %v", err)
	}
	var err error
	for range maxFailures {
		_, _, err = l.redeem(t.Context(), "guess", "10.0.0.1")
	}
	if err != errTooMany {
		t.Errorf("after many guesses = %v", err)
	}
	if _, _, err := l.redeem(t.Context(), l.NewCode(admin), "10.0.0.1"); err != errTooMany {
		t.Errorf("a right code after many guesses = %v", err)
	}
	t.Run("door/14 a right code from elsewhere", func(t *testing.T) {
		for i := range 3 * maxSources {
			if _, _, err := l.redeem(t.Context(), "guess", fmt.Sprintf("10.%d.%d.2", i/256, i%256)); err != errWrongCode {
				t.Fatalf("the first guess of a source = %v", err)
			}
		}
		if n := len(l.guesses.by); n > maxSources {
			t.Errorf("%d sources are remembered", n)
		}
		if _, _, err := l.redeem(t.Context(), l.NewCode(admin), "10.0.0.2"); err != nil {
			t.Errorf("= %v", err)
		}
	})
	now = now.Add(2 * time.Minute)
	if _, _, err := l.redeem(t.Context(), l.NewCode(admin), "10.0.0.1"); err != nil {
		t.Errorf("a minute later = %v", err)
	}
}

func TestSourceOfGuesses(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.7:4000": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:1": "2001:db8:1:2::", "[2001:db8:1:2::9]:1": "2001:db8:1:2::",
		"127.0.0.1:5": "127.0.0.1", "[::1]:5": "::", "@": "@", "": "",
	} {
		t.Run("door/14 "+remote, func(t *testing.T) {
			if got := sourceOf(remote); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestLoginSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	l := opened(t, Options{StateDir: dir, Now: time.Now})
	session, _, err := l.redeem(t.Context(), l.NewCode(admin), "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "logins.json"))
	if err != nil || strings.Contains(string(data), session) {
		t.Fatalf("the file holds the session itself: %s, %v", data, err)
	}
	again := opened(t, Options{StateDir: dir, Now: time.Now})
	r := httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&http.Cookie{Name: cookieName, Value: session})
	if id, ok := again.Identify(r); !ok || id.ID != admin.ID || !id.Admin {
		t.Errorf("identify = %v, %v", id, ok)
	}
	must.OK(t, again.Drop(admin.ID))
	if _, ok := again.Identify(r); ok {
		t.Error("still logged in after all logins of the principal have ended")
	}
}
