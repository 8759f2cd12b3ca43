package values

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
)

// A world is a page and the values it stored.
type world struct {
	page   Page
	log    bytes.Buffer
	stored map[string]string // by user and name
	broken error
	ended  map[string]bool
}

func newWorld() *world {
	w := &world{stored: map[string]string{}, ended: map[string]bool{}}
	w.page = Page{
		Book: &Book{}, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Has: func(user, name, refused string) bool { is := w.stored[user+" "+name]; return is != "" && is != refused },
		Store: func(user, name, value string) error {
			if w.broken == nil {
				w.stored[user+" "+name] = value
			}
			return w.broken
		},
		Current: func(p access.Principal) (access.Principal, bool) { return p, !w.ended[p.ID] },
	}
	return w
}

func question(user string) Question {
	return Question{Who: access.Principal{ID: user, Name: "Ann <b>"}, Server: "hub", Name: "hub-token", Description: `a "token" <i>`}
}

func (w *world) do(method, path, value string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(url.Values{"value": {value}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	rec := httptest.NewRecorder()
	w.page.ServeHTTP(rec, r)
	return rec
}

func TestPage(t *testing.T) {
	w := newWorld()
	path := w.page.Book.Ask(question("key:ann"))
	shown := w.do(http.MethodGet, path, "")
	text := shown.Body.String()
	must.Contain(t, text, "hub needs your hub-token", "<code>hub-token</code>", "a &#34;token&#34; &lt;i&gt;", "Ann &lt;b&gt;", `type="password"`)
	if h := shown.Header(); shown.Code != http.StatusOK || h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Errorf("%d %v", shown.Code, h)
	}
	for value, want := range map[string]int{" ": http.StatusBadRequest, "two\nlines": http.StatusBadRequest, strings.Repeat("x", maxForm): http.StatusBadRequest} {
		if got := w.do(http.MethodPost, path, value); got.Code != want || len(w.stored) > 0 {
			t.Errorf("%.10q: %d %v", value, got.Code, w.stored)
		}
	}
	done := w.do(http.MethodPost, path, " the-value\n")
	if done.Code != http.StatusOK || w.stored["key:ann hub-token"] != "the-value" {
		t.Errorf("%d %v", done.Code, w.stored)
	}
	if strings.Contains(done.Body.String()+w.log.String(), "the-value") {
		t.Error("the value is shown")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if again := w.do(method, path, "another"); again.Code != http.StatusNotFound || w.stored["key:ann hub-token"] != "the-value" {
			t.Errorf("%s again: %d %v", method, again.Code, w.stored)
		}
	}
}

func TestPageRefuses(t *testing.T) {
	w := newWorld()
	if got := w.do(http.MethodPost, Path+"guess", "x"); got.Code != http.StatusNotFound {
		t.Errorf("a guess: %d", got.Code)
	}
	path := w.page.Book.Ask(question("key:ann"))
	if got := w.do(http.MethodPut, path, "x"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", got.Code)
	}
	w.ended["key:ann"] = true
	if got := w.do(http.MethodPost, path, "x"); got.Code != http.StatusNotFound || len(w.stored) > 0 {
		t.Errorf("a key that was revoked: %d %v", got.Code, w.stored)
	}
	w.ended = map[string]bool{}
	w.broken = errors.New("no space")
	if got := w.do(http.MethodPost, path, "the-value"); got.Code != http.StatusInternalServerError || strings.Contains(got.Body.String()+w.log.String(), "the-value") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A ticket ends after ten minutes, and the tickets of one principal do not
// displace those of another.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ann := w.page.Book.Ask(question("key:ann"))
		var bob []string
		for range maxEach + 3 {
			time.Sleep(time.Second)
			bob = append(bob, w.page.Book.Ask(question("key:bob")))
		}
		for path, want := range map[string]int{ann: http.StatusOK, bob[0]: http.StatusNotFound, bob[2]: http.StatusNotFound, bob[3]: http.StatusOK} {
			if got := w.do(http.MethodGet, path, ""); got.Code != want {
				t.Errorf("%s: %d, want %d", path, got.Code, want)
			}
		}
		time.Sleep(life)
		if got := w.do(http.MethodPost, bob[3], "x"); got.Code != http.StatusNotFound || len(w.stored) > 0 {
			t.Errorf("a ticket of before: %d", got.Code)
		}
	})
}

// Once the value exists, no link asks for it any more, and no link can replace it.
func TestLinksEndWithTheValue(t *testing.T) {
	w := newWorld()
	one, two := w.page.Book.Ask(question("key:ann")), w.page.Book.Ask(question("key:ann"))
	other := w.page.Book.Ask(question("key:bob"))
	if got := w.do(http.MethodPost, one, "first"); got.Code != http.StatusOK {
		t.Fatal(got.Code)
	}
	delete(w.stored, "key:ann hub-token") // and it is removed again
	if got := w.do(http.MethodPost, two, "second"); got.Code != http.StatusNotFound || len(w.stored) > 0 {
		t.Errorf("the second link: %d %v", got.Code, w.stored)
	}
	w.stored["key:bob hub-token"] = "set elsewhere"
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if got := w.do(method, other, "third"); got.Code != http.StatusNotFound || w.stored["key:bob hub-token"] != "set elsewhere" {
			t.Errorf("%s of a link whose value is there: %d %v", method, got.Code, w.stored)
		}
	}
}
