package cli_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// An issuer is an authorization server: it registers clients, consents to
// everything, and issues signed tokens. A refresh token is valid once.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey

	mu       sync.Mutex
	codes    map[string]url.Values // authorization requests
	refresh  map[string]string     // resources by refresh token
	access   map[string]bool       // valid access tokens
	lifetime time.Duration
	asked    []string // kinds of token requests
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &issuer{key: key, codes: map[string]url.Values{}, refresh: map[string]string{}, access: map[string]bool{}, lifetime: time.Hour}
	is.Server = httptest.NewServer(is)
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	defer is.mu.Unlock()
	give := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration":
		give(200, map[string]any{
			"issuer": is.URL, "authorization_endpoint": is.URL + "/authorize", "token_endpoint": is.URL + "/token", "registration_endpoint": is.URL + "/register",
			"revocation_endpoint": is.URL + "/revoke", "jwks_uri": is.URL + "/keys", "code_challenge_methods_supported": []string{"S256"},
		})
	case "/keys":
		give(200, mcptest.KeySet(is.key))
	case "/register":
		give(201, map[string]string{"client_id": "c1"})
	case "/authorize":
		q, code := r.URL.Query(), rand.Text()
		is.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	case "/token":
		is.asked = append(is.asked, r.FormValue("grant_type"))
		resource, ok := is.redeem(r)
		if !ok {
			give(400, map[string]string{"error": "invalid_grant"})
			return
		}
		next, token := rand.Text(), is.sign(resource)
		is.refresh[next], is.access[token] = resource, true
		give(200, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(is.lifetime.Seconds()), "refresh_token": next})
	case "/revoke":
		delete(is.refresh, r.FormValue("token"))
	default:
		http.NotFound(w, r)
	}
}

func (is *issuer) redeem(r *http.Request) (resource string, ok bool) {
	if r.FormValue("grant_type") == "refresh_token" {
		resource, ok = is.refresh[r.FormValue("refresh_token")]
		delete(is.refresh, r.FormValue("refresh_token"))
		return resource, ok && resource == r.FormValue("resource")
	}
	q := is.codes[r.FormValue("code")]
	delete(is.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	return q.Get("resource"), q != nil && mcptest.Base64URL(sum[:]) == q.Get("code_challenge") && q.Get("resource") == r.FormValue("resource")
}

func (is *issuer) sign(resource string) string {
	now := time.Now()
	return mcptest.SignToken(is.key, map[string]any{"iss": is.URL, "aud": resource, "sub": "alice", "client_id": "c1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": rand.Text()})
}

func (is *issuer) set(change func()) {
	is.mu.Lock()
	defer is.mu.Unlock()
	change()
}

// newSignedRegistry returns a registry whose records only the tokens of an issuer
// open. Its metadata says that it is resource.
func newSignedRegistry(t *testing.T, is *issuer, resource func(own string) string) *httptest.Server {
	t.Helper()
	files := filepath.Join("..", "install", "testdata", "registry")
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const metadata = "/about/this"
		if r.URL.Path == metadata {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": resource(srv.URL), "authorization_servers": []string{is.URL}})
			return
		}
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		is.mu.Lock()
		valid := is.access[token]
		is.mu.Unlock()
		if !valid && token != "static-canary" {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata=%q`, srv.URL+metadata))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path != "/v0.1/servers" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(files, "search-airtable.json"))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// registryUser runs the program with a config file of its own.
type registryUser struct {
	t          *testing.T
	home, file string
}

func newRegistryUser(t *testing.T, registries string) *registryUser {
	t.Helper()
	home := t.TempDir()
	u := &registryUser{t, home, filepath.Join(home, "mcp.json")}
	u.write(registries)
	return u
}

func (u *registryUser) write(registries string) {
	u.t.Helper()
	must.Write(u.t, u.file, `{"registries":`+registries+`,"mcpServers":{}}`)
}

func (u *registryUser) program(args ...string) mcptest.Program {
	u.t.Helper()
	p := mcptest.Product(u.t, append(args, "-c", u.file)...)
	p.Env = append(p.Env, "HOME="+u.home, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG="+cmp.Or(os.Getenv("MCP_AIO_LANG"), "en"))
	return p
}

// run returns the whole output and the exit code.
func (u *registryUser) run(input string, args ...string) (string, int) {
	u.t.Helper()
	p := u.program(args...)
	cmd := exec.CommandContext(u.t.Context(), p.Path, p.Args...)
	cmd.Stdin, cmd.Env = strings.NewReader(input), append(os.Environ(), p.Env...)
	out, _ := cmd.CombinedOutput() // the exit code is checked
	return string(out), cmd.ProcessState.ExitCode()
}

// signIn signs in to registry:work in the browser.
func (u *registryUser) signIn() {
	u.t.Helper()
	login := mcptest.Start(u.t, u.program("auth", "login", "registry:work", "--no-browser"))
	must.Await(u.t, "the address is printed", func() bool { return address.MatchString(login.Stderr()) })
	resp, err := http.Get(address.FindString(login.Stderr()))
	if err != nil || resp.StatusCode != http.StatusOK {
		u.t.Fatalf("the browser: %v, %v", resp, err)
	}
	resp.Body.Close()
	if code := login.Wait(30 * time.Second); code != 0 || !strings.Contains(login.Stdout(), "signed in to registry:work (http") {
		u.t.Fatalf("exit code %d: %s%s", code, login.Stdout(), login.Stderr())
	}
}

// A person signs in to a registry in the browser. The token is refreshed, goes to
// that registry alone, and is revoked at the end.
func TestRegistrySignIn(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	registry := newSignedRegistry(t, is, func(own string) string { return own })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("registry/sign-in: %s got a token that is not its own", r.URL)
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(elsewhere.Close)
	list := func(work string) string {
		return fmt.Sprintf(`[{"name":"work","url":%q,"names":["*"]},{"name":"other","url":%q,"names":["*"]}]`, work, elsewhere.URL)
	}
	u := newRegistryUser(t, list(registry.URL))
	found := func(when string) {
		t.Helper()
		if out, code := u.run("", "search", "airtable"); !strings.Contains(out, "io.github.domdomegg/airtable-mcp-server") || strings.Contains(out, "registry work") {
			t.Errorf("registry/sign-in: %s: exit code %d: %s", when, code, out)
		}
	}
	wanted := func(when string) {
		t.Helper()
		if out, code := u.run("", "search", "airtable"); code != 4 || !strings.Contains(out, "the registry work: sign in: mcp-all-in-one auth login registry:work") {
			t.Errorf("registry/sign-in: %s: exit code %d: %s", when, code, out)
		}
	}
	wanted("before")
	u.signIn()
	found("after")
	out, _ := u.run("", "auth", "status")
	one, _ := u.run("", "auth", "status", "registry:work")
	if !strings.Contains(out, "registry:work\t") || !strings.Contains(out, is.URL) || one != out {
		t.Errorf("registry/sign-in: status: %s, of the registry: %s", out, one)
	}
	// The registry does not take the token any more, then the token is about to expire.
	is.set(func() { clear(is.access); is.lifetime = 30 * time.Second })
	found("when the token is refused")
	is.set(func() { is.lifetime = time.Hour })
	found("when the token expires")
	found("with the new token")
	is.set(func() {
		if want := []string{"authorization_code", "refresh_token", "refresh_token"}; !slices.Equal(is.asked, want) {
			t.Errorf("registry/sign-in: the tokens came by %v, want %v", is.asked, want)
		}
	})
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	u.write(list(moved.URL)) // the sign-in is for the old address, and nothing follows a redirect
	if out, code := u.run("", "search", "airtable"); code != 4 || !strings.Contains(out, "307 Temporary Redirect") {
		t.Errorf("registry/sign-in: moved: exit code %d: %s", code, out)
	}
	u.write(list(registry.URL))
	if out, code := u.run("", "auth", "logout", "registry:work"); code != 0 {
		t.Errorf("registry/sign-in: logout: exit code %d: %s", code, out)
	}
	is.set(func() {
		if len(is.refresh) != 0 {
			t.Errorf("registry/sign-in: %d grants were not revoked", len(is.refresh))
		}
	})
	wanted("after the sign-out")
	if out, code := u.run("", "auth", "logout", "registry:work"); code != 2 || !strings.Contains(out, "registry:work: no user is signed in") || !strings.Contains(out, "fix       mcp-all-in-one auth status -c ") {
		t.Errorf("registry/sign-in: a second logout: exit code %d: %s", code, out)
	}
	// A token may be entered all the same. Each sign-in replaces the other.
	if out, code := u.run("static-canary\n", "auth", "login", "registry:work", "--token"); code != 0 {
		t.Errorf("registry/sign-in: a token: exit code %d: %s", code, out)
	}
	found("with a token that was entered")
	is.set(func() { is.asked = nil })
	u.signIn()
	if out, _ := u.run("", "auth", "status"); strings.Count(out, "registry:work") != 1 || !strings.Contains(out, is.URL) {
		t.Errorf("registry/sign-in: status of the second: %s", out)
	}
}

// A registry that names a resource elsewhere, or that wants a token and has no page,
// is not signed in to in the browser.
func TestRegistryNoSignIn(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	for name, resource := range map[string]func(string) string{
		"elsewhere": func(string) string { return "https://example.com" }, "beside": func(own string) string { return own + "/other" },
	} {
		registry := newSignedRegistry(t, is, resource)
		u := newRegistryUser(t, fmt.Sprintf(`[{"name":"work","url":%q,"names":["*"]}]`, registry.URL+"/registry"))
		if out, code := u.run("", "auth", "login", "registry:work", "--no-browser"); code != 3 || !strings.Contains(out, "its metadata is about") {
			t.Errorf("registry/no sign-in/%s: exit code %d: %s", name, code, out)
		}
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="plain"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(plain.Close)
	u := newRegistryUser(t, fmt.Sprintf(`[{"name":"work","url":%q,"names":["*"]}]`, plain.URL))
	if out, code := u.run("right\n", "auth", "login", "registry:work", "--user", "key:a"); code != 2 || !strings.Contains(out, "--user is for servers") {
		t.Errorf("registry/no sign-in/user: exit code %d: %s", code, out)
	}
	if out, code := u.run("wrong\n", "auth", "login", "registry:work"); code != 3 || !strings.Contains(out, "the token was not stored: it answered 401 Unauthorized to the token; another is set by auth login registry:work") {
		t.Errorf("registry/no sign-in/plain: exit code %d: %s", code, out)
	}
	if out, code := u.run("right\n", "auth", "login", "registry:work"); code != 0 || !strings.Contains(out, "signed in to work") {
		t.Errorf("registry/no sign-in/plain: exit code %d: %s", code, out)
	}
	if out, _ := u.run("", "auth", "status"); !strings.Contains(out, "registry:work\t\tsigned in") {
		t.Errorf("registry/no sign-in/plain: status: %s", out)
	}
}

// A gateway that takes the tokens of an authorization server is a registry to sign
// in to.
func TestOwnRegistrySignIn(t *testing.T) {
	t.Parallel()
	is := newIssuer(t)
	port := mcptest.FreePort(t)
	own := "http://127.0.0.1:" + port
	g := unguarded(t)
	g.write("mcp.json", fmt.Sprintf(`{"access":{"oauth":{"issuer":%q,"resource":%q}},"mcpServers":{"alpha":{"command":%q,"args":["demo"]}}}`, is.URL, own+"/mcp", g.binary))
	gw := mcptest.Start(t, mcptest.Program{Path: g.binary, Args: []string{"http", "-p", port, "-c", filepath.Join(g.dir, "mcp.json")}, Env: g.env(), Dir: g.dir})
	gw.Listening()
	u := newRegistryUser(t, fmt.Sprintf(`[{"name":"work","url":%q,"names":["*"]}]`, own))
	if out, code := u.run("", "search", "gateway"); code != 4 || !strings.Contains(out, "sign in: mcp-all-in-one auth login registry:work") {
		t.Errorf("registry/own: before: exit code %d: %s", code, out)
	}
	u.signIn()
	if out, code := u.run("", "search", "gateway"); code != 0 || !strings.Contains(out, "local.gateway.default/alpha") {
		t.Errorf("registry/own: after: exit code %d: %s", code, out)
	}
}
