package sharing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

const (
	verifier = "a-verifier-of-at-least-forty-three-characters-for-PKCE"
	back     = "https://cloud.example/callback"
)

// A gate is a server whose questions the test answers.
type gate struct {
	t     *testing.T
	url   string
	keys  *access.Keys
	conf  *config.Sharing
	s     *Server
	asked chan Request
	says  chan bool
}

func newGate(t *testing.T) *gate {
	t.Helper()
	keys, err := access.OpenKeys(filepath.Join(t.TempDir(), "keys.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, keys: keys, asked: make(chan Request, maxOpen), says: make(chan bool, maxOpen)}
	policy := &access.Policy{Required: true, Keys: keys}
	s := New(t.Context(), func() *access.Policy { return policy }, func(ctx context.Context, r Request) bool {
		g.asked <- r
		select {
		case yes := <-g.says:
			return yes
		case <-ctx.Done():
			return false
		}
	}, "", slog.New(slog.DiscardHandler))
	web := httptest.NewServer(s)
	t.Cleanup(func() { web.Close(); s.Close() })
	policy.Share = config.Sharing{URL: web.URL, Schema: "default", Days: 30}
	g.url, g.conf, g.s = web.URL, &policy.Share, s
	return g
}

// get fetches a page without following redirects.
func (g *gate) get(address string) (*http.Response, string) {
	g.t.Helper()
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Get(address)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp, string(body)
}

// register registers a client and returns its id, or the error.
func (g *gate) register(redirects ...string) string {
	g.t.Helper()
	body := must.JSON(g.t, map[string]any{"client_name": "Cloud", "redirect_uris": redirects, "scope": "admin", "token_endpoint_auth_method": "client_secret_post"})
	resp, err := http.Post(g.url+registerPath, "application/json", strings.NewReader(string(body)))
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got map[string]any
	must.OK(g.t, json.NewDecoder(resp.Body).Decode(&got))
	if id, ok := got["client_id"].(string); ok && resp.StatusCode == http.StatusCreated {
		return id
	}
	fault, _ := got["error"].(string)
	return fault
}

// asks returns the parameters of a good request.
func (g *gate) asks(client string) url.Values {
	hash := sha256.Sum256([]byte(verifier))
	return url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {back}, "state": {"s&t"}, "scope": {"admin"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(hash[:])}, "code_challenge_method": {"S256"}, "resource": {g.conf.Resource()}}
}

// begin begins an attempt and returns the address of its page.
func (g *gate) begin(q url.Values) string {
	g.t.Helper()
	resp, body := g.get(g.url + authorizePath + "?" + q.Encode())
	at := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(at, waitPath) {
		g.t.Fatalf("authorize: %s, %s, %s", resp.Status, at, body)
	}
	return g.url + at
}

// back returns what the client gets when the person has decided.
func (g *gate) back(page string) url.Values {
	g.t.Helper()
	for {
		resp, body := g.get(page)
		if resp.StatusCode == http.StatusOK {
			continue // the answer is not there yet
		}
		at, err := url.Parse(resp.Header.Get("Location"))
		if err != nil || !strings.HasPrefix(at.String(), back+"?") {
			g.t.Fatalf("%s, to %s: %s", resp.Status, at, body)
		}
		return at.Query()
	}
}

// code returns a code that a person has allowed.
func (g *gate) code(client string) string {
	g.t.Helper()
	page := g.begin(g.asks(client))
	<-g.asked
	g.says <- true
	q := g.back(page)
	if q.Get("code") == "" || q.Get("state") != "s&t" || q.Get("iss") != g.conf.URL {
		g.t.Fatalf("the client got %v", q)
	}
	return q.Get("code")
}

// form returns the form of the token request, with changes.
func form(client, code string, change ...string) url.Values {
	f := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {client}, "redirect_uri": {back}, "code_verifier": {verifier}, "scope": {"admin"}}
	for i := 0; i < len(change); i += 2 {
		f.Set(change[i], change[i+1])
	}
	return f
}

// token sends a token request and returns the answer.
func (g *gate) token(f url.Values) (status int, answer map[string]any) {
	g.t.Helper()
	resp, err := http.PostForm(g.url+tokenPath, f)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	must.OK(g.t, json.NewDecoder(resp.Body).Decode(&answer))
	return resp.StatusCode, answer
}

func (g *gate) valid() (n int) {
	g.t.Helper()
	list, err := g.keys.List()
	if err != nil {
		g.t.Fatal(err)
	}
	for i := range list {
		if list[i].Revoked == nil {
			n++
		}
	}
	return n
}

// TestShare checks that a client gets a key for one schema that is read-only,
// whatever it asks for, and that the person saw who asks.
func TestShare(t *testing.T) {
	g := newGate(t)
	id := g.register(back)
	page := g.begin(g.asks(id))
	asked := <-g.asked
	if asked.Host != "cloud.example" || asked.Name != "Cloud" || asked.Schema != "default" || asked.Write || len(asked.Code) != 6 {
		t.Errorf("get/share asked %+v", asked)
	}
	if resp, body := g.get(page); resp.StatusCode != http.StatusOK || !strings.Contains(body, asked.Code[:3]+" "+asked.Code[3:]) || !strings.Contains(body, "cloud.example asks") {
		t.Errorf("get/share the page: %s %s", resp.Status, body)
	}
	g.says <- true
	status, token := g.token(form(id, g.back(page).Get("code")))
	if status != http.StatusOK || token["token_type"] != "Bearer" || token["scope"] != "schema:default readonly" || token["refresh_token"] != nil {
		t.Fatalf("get/share token: %d %v", status, token)
	}
	list, err := g.keys.List()
	if err != nil || len(list) != 1 || strings.Join(list[0].Scopes(), " ") != "schema:default readonly" || list[0].Admin || list[0].Expires == nil {
		t.Errorf("get/share keys: %+v, %v", list, err)
	}
}

func TestDenied(t *testing.T) {
	g := newGate(t)
	page := g.begin(g.asks(g.register(back)))
	<-g.asked
	g.says <- false
	if q := g.back(page); q.Get("error") != "access_denied" || q.Get("code") != "" || q.Get("iss") != g.conf.URL {
		t.Errorf("get/share denied: %v", q)
	}
	if resp, _ := g.get(page); resp.StatusCode != http.StatusNotFound {
		t.Errorf("get/share the page after the answer: %s", resp.Status)
	}
}

// TestRequestsThatAreRefused checks that a bad request asks no person, and that
// the browser stays here: else every link to the gateway could lead anywhere.
func TestRequestsThatAreRefused(t *testing.T) {
	g := newGate(t)
	id := g.register(back)
	for name, c := range map[string]struct{ key, value, want string }{
		"no PKCE":              {"code_challenge", "", "invalid_request"},
		"plain PKCE":           {"code_challenge_method", "plain", "invalid_request"},
		"no method of PKCE":    {"code_challenge_method", "", "invalid_request"},
		"short challenge":      {"code_challenge", "abc", "invalid_request"},
		"a token in the URL":   {"response_type", "token", "unsupported_response_type"},
		"another resource":     {"resource", "https://other.example/mcp", "invalid_target"},
		"another address":      {"redirect_uri", "https://evil.example/callback", ""},
		"a longer address":     {"redirect_uri", back + "/../x", ""},
		"a query beside":       {"redirect_uri", back + "?x=1", ""},
		"no address":           {"redirect_uri", "", ""},
		"no client":            {"client_id", "", ""},
		"an unknown client":    {"client_id", "nobody", ""},
		"a broken client":      {"client_id", registered + "AAAA", ""},
		"a client without TLS": {"client_id", "http://127.0.0.1/client.json", ""},
		"a client at the root": {"client_id", "https://cloud.example/", ""},
	} {
		q := g.asks(id)
		q.Set(c.key, c.value)
		resp, body := g.get(g.url + authorizePath + "?" + q.Encode())
		if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Location") != "" || !strings.Contains(body, c.want) {
			t.Errorf("get/share %s: %s to %s, %s", name, resp.Status, resp.Header.Get("Location"), body)
		}
	}
	if resp, _ := g.get(g.url + authorizePath + "?" + g.asks(id).Encode() + "&redirect_uri=https://evil.example/"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("get/share a parameter twice: %s", resp.Status)
	}
	select {
	case r := <-g.asked:
		t.Errorf("get/share a person was asked: %+v", r)
	default:
	}
}

// TestCodesThatAreRefused checks that a code counts once, for the request that it
// was given for.
func TestCodesThatAreRefused(t *testing.T) {
	g := newGate(t)
	id, other := g.register(back), g.register(back, "https://cloud.example/other")
	for name, change := range map[string][]string{
		"another verifier": {"code_verifier", "another-verifier-of-forty-three-characters-or-more"},
		"no verifier":      {"code_verifier", ""},
		"another client":   {"client_id", other},
		"no client":        {"client_id", ""},
		"another address":  {"redirect_uri", "https://cloud.example/other"},
		"another resource": {"resource", "https://other.example/mcp"},
		"no code":          {"code", ""},
	} {
		code := g.code(id)
		if status, got := g.token(form(id, code, change...)); status != http.StatusBadRequest || got["access_token"] != nil {
			t.Errorf("get/share %s: %d %v", name, status, got)
		}
		if status, _ := g.token(form(id, code)); status == http.StatusOK && name != "no code" {
			t.Errorf("get/share %s: the code counts after it was refused", name)
		}
	}
	before := g.valid()
	code := g.code(id)
	if status, _ := g.token(form(id, code)); status != http.StatusOK {
		t.Fatalf("get/share a good request: %d", status)
	}
	if resp, _ := g.get(g.url + waitPath + "?id=" + code); resp.StatusCode != http.StatusNotFound {
		t.Errorf("get/share a code as the id of a page: %s", resp.Status)
	}
	if status, got := g.token(form(id, code)); status != http.StatusBadRequest || got["error"] != "invalid_grant" {
		t.Errorf("get/share a code twice: %d %v", status, got)
	}
	if n := g.valid(); n != before {
		t.Errorf("get/share the key of a code that was shown twice is valid: %d, before %d", n, before)
	}
	code = g.code(id)
	g.conf.Write = true
	if status, got := g.token(form(id, code)); status != http.StatusBadRequest {
		t.Errorf("get/share more than was confirmed: %d %v", status, got)
	}
	if status, got := g.token(form(id, code, "grant_type", "client_credentials")); status != http.StatusBadRequest || got["error"] != "unsupported_grant_type" {
		t.Errorf("get/share another grant: %d %v", status, got)
	}
}

// TestCodeTwiceAtOnce shows a code twice in the same moment: the key that one of the
// two gets is revoked.
func TestCodeTwiceAtOnce(t *testing.T) {
	g := newGate(t)
	id := g.register(back)
	for range 10 {
		f := form(id, g.code(id))
		answers := make(chan string, 2)
		for range cap(answers) {
			go func() {
				resp, err := http.PostForm(g.url+tokenPath, f)
				if err != nil {
					answers <- err.Error()
					return
				}
				resp.Body.Close()
				answers <- resp.Status
			}()
		}
		if a, b := <-answers, <-answers; min(a, b) != "200 OK" || max(a, b) != "400 Bad Request" {
			t.Errorf("get/share a code twice at once: %s and %s", a, b)
		}
		if n := g.valid(); n != 0 {
			t.Errorf("get/share a code twice at once: %d keys are valid", n)
		}
	}
}

// TestCodeIsRemembered checks that a code that was used in its last second is still
// known when it is shown again later.
func TestCodeIsRemembered(t *testing.T) {
	g := newGate(t)
	id := g.register(back)
	code, used := g.code(id), time.Now()
	if status, _ := g.token(form(id, code)); status != http.StatusOK {
		t.Fatalf("get/share a good request: %d", status)
	}
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if left := g.s.codes[code].expires.Sub(used); left < codeLife {
		t.Errorf("get/share a used code is remembered for %v after its use", left)
	}
}

func TestRegistration(t *testing.T) {
	g := newGate(t)
	for _, address := range []string{"http://cloud.example/", "javascript:alert(1)", "https://user@cloud.example/", "https://cloud.example/#x", "cursor://x/y", "/callback", "",
		"https://cl\u0430ude.example/", "https://a%E2%80%AEb/", "https://cloud.example/" + strings.Repeat("x", maxAddress)} {
		if got := g.register(address); got != "invalid_redirect_uri" {
			t.Errorf("get/share %q: %s", address, got)
		}
	}
	if got := g.register(); got != "invalid_redirect_uri" {
		t.Errorf("get/share no address: %s", got)
	}
	// On the machine of the person any port will do, and nothing else.
	c := client{Redirects: []string{"http://127.0.0.1:1234/callback"}}
	for address, want := range map[string]bool{"http://127.0.0.1:9/callback": true, "http://127.0.0.1:9/other": false, "http://localhost:1234/callback": false, "https://127.0.0.1:9/callback": false, "http://127.0.0.1@evil.example/callback": false} {
		if c.allows(address) != want {
			t.Errorf("get/share %s: %v", address, !want)
		}
	}
}

// TestCrowd checks that strangers cannot ask more than a bounded number of
// questions.
func TestCrowd(t *testing.T) {
	g := newGate(t)
	q := g.asks(g.register(back))
	for range maxOpen {
		g.begin(q)
	}
	resp, _ := g.get(g.url + authorizePath + "?" + q.Encode())
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("get/share one more: %s", resp.Status)
	}
}

// TestDocumentLeadsNowhere checks that the document of a client is fetched from
// public addresses only, and must describe that client.
func TestDocumentLeadsNowhere(t *testing.T) {
	var hits int
	document := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": "https://" + r.Host + "/client.json", "client_name": "Doc", "redirect_uris": []string{back}})
	}))
	defer document.Close()
	g := newGate(t)
	g.conf.URL = "https://mcp.example.com" // not on this machine, so documents may not be here
	q := g.asks(document.URL + "/client.json")
	if resp, _ := g.get(g.url + authorizePath + "?" + q.Encode()); resp.StatusCode != http.StatusBadRequest || hits != 0 {
		t.Errorf("get/share a document on this machine: %s, %d requests", resp.Status, hits)
	}
	s := New(t.Context(), nil, nil, "", slog.New(slog.DiscardHandler))
	s.fetch = func(bool) *http.Client { return document.Client() }
	if c, err := s.find(t.Context(), document.URL+"/client.json", *g.conf); err != nil || c.Name != "Doc" {
		t.Errorf("get/share a document: %+v, %v", c, err)
	}
	if _, err := s.find(t.Context(), document.URL+"/copy.json", *g.conf); err == nil {
		t.Error("get/share a document of another client was taken")
	}
}
