package cluster

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// A hub is a server that requires a sign-in and answers each person by name, with
// its authorization server.
type hub struct {
	url     string
	persons map[string]http.Handler
	mu      sync.Mutex
	codes   map[string][2]string // challenge and person
	tokens  map[string]string    // persons
}

func newHub(t *testing.T, persons ...string) *hub {
	t.Helper()
	h := &hub{persons: map[string]http.Handler{}, codes: map[string][2]string{}, tokens: map[string]string{}}
	for _, name := range persons {
		s := mcpserver.New("hub")
		s.SetTools(mcpserver.Tool{Definition: `{"name":"whoami","inputSchema":{"type":"object"}}`,
			Run: func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("you are %s", name), nil }})
		handler, stop := s.HTTP("")
		t.Cleanup(stop)
		h.persons[name] = handler
	}
	front := httptest.NewServer(h)
	t.Cleanup(front.Close)
	h.url = front.URL
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	give := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		give(map[string]any{"resource": h.url + "/mcp", "authorization_servers": []string{h.url}})
	case "/.well-known/oauth-authorization-server":
		give(map[string]any{
			"issuer": h.url, "authorization_endpoint": h.url + "/authorize", "token_endpoint": h.url + "/token",
			"registration_endpoint": h.url + "/register", "code_challenge_methods_supported": []string{"S256"},
		})
	case "/register":
		w.WriteHeader(http.StatusCreated)
		give(map[string]any{"client_id": "c1"})
	case "/authorize":
		q, code := r.URL.Query(), rand.Text()
		h.mu.Lock()
		h.codes[code] = [2]string{q.Get("code_challenge"), q.Get("person")}
		h.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	case "/token":
		sum, token := sha256.Sum256([]byte(r.FormValue("code_verifier"))), rand.Text()
		h.mu.Lock()
		known := h.codes[r.FormValue("code")]
		right := known[0] != "" && base64.RawURLEncoding.EncodeToString(sum[:]) == known[0]
		if right {
			h.tokens[token] = known[1]
		}
		h.mu.Unlock()
		if !right {
			w.WriteHeader(http.StatusBadRequest)
			give(map[string]string{"error": "invalid_grant"})
			return
		}
		give(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	case "/mcp":
		h.mu.Lock()
		handler := h.persons[h.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]]
		h.mu.Unlock()
		if handler == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

var signInPage = regexp.MustCompile(`http://\S+/authorize\S+`)

// TestUsers checks that each person's own sign-in, made on one machine, counts at
// all replicas within a second, for that person alone, and so does its end.
func TestUsers(t *testing.T) {
	besideOthers(t)
	server, h := mcptest.StartNATS(t), newHub(t, "ann", "bob")
	c := start(t, 2, options{
		servers: fmt.Sprintf(`,"hub":{"type":"http","url":%q,"auth":{"perUser":true}}`, h.url+"/mcp"),
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`,
	})
	a, b := c.replicas[0], c.replicas[1]
	keys, ids := map[string]string{}, map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		var made struct{ ID, Key string }
		decode(t, []byte(a.must("key", "create", name, "--json")), &made)
		keys[name], ids[name] = made.Key, "key:"+made.ID
		enters(t, a, made.Key)
		enters(t, b, made.Key)
	}
	whoami := func(r *replica, name string) string {
		return modernAsk(t, r.url(), keys[name], "tools/call", "hub__whoami", map[string]any{"name": "hub__whoami", "arguments": map[string]any{}}).Raw
	}
	login := func(r *replica, name string) time.Time {
		t.Helper()
		p := mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"auth", "login", "hub", "--no-browser", "--user", ids[name], "--mcp-config", r.config},
			Env: []string{"HOME=" + r.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}})
		await(t, "the address is printed", func() bool { return signInPage.MatchString(p.Stderr()) })
		resp, err := http.Get(signInPage.FindString(p.Stderr()) + "&person=" + name)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if code := p.Wait(20 * time.Second); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		return time.Now()
	}
	within := func(what string, since time.Time, ok func() bool) {
		t.Helper()
		await(t, what, ok)
		if took := time.Since(since); took > soon {
			t.Errorf("%s after %v", what, took)
		} else {
			t.Logf("%s after %v", what, took)
		}
	}
	is := func(r *replica, name string) func() bool {
		return func() bool { return strings.Contains(whoami(r, name), "you are "+name) }
	}
	t.Run("cluster/users/sign in", func(t *testing.T) {
		within("ann's sign-in on a counts at b", login(a, "ann"), is(b, "ann"))
		within("and at a", time.Now(), is(a, "ann"))
		for _, r := range c.replicas {
			if said := whoami(r, "bob"); strings.Contains(said, "you are") {
				t.Errorf("bob at %s, without a sign-in: %s", r.name, said)
			}
		}
		within("bob's sign-in on b counts at a", login(b, "bob"), is(a, "bob"))
		for _, r := range c.replicas {
			for name := range keys {
				// The sign-in was done by another process, also for the replica beside it.
				await(t, name+" is signed in at "+r.name, is(r, name))
			}
		}
	})
	t.Run("cluster/users/sign out", func(t *testing.T) {
		b.must("auth", "logout", "hub", "--user", ids["ann"])
		within("ann's sign-out on b counts at a", time.Now(), func() bool { return !strings.Contains(whoami(a, "ann"), "you are") })
		if !is(a, "bob")() || !is(b, "bob")() {
			t.Error("bob was signed out, too")
		}
	})
}
