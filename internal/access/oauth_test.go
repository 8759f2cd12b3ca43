package access

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
)

// fault/T28
func TestTokens(t *testing.T) {
	is := newIssuer(t)
	other := newIssuer(t)
	other.rsa = other.rsa2
	rs := is.resourceServer(t, func(c *config.OAuth) { c.Audience = []string{"api://extra"} })
	moment := time.Now()
	rs.now = func() time.Time { return moment }
	now := moment.Unix()
	moment = time.Unix(now, 0)
	srv := guarded(t, &Policy{Required: true, Tokens: rs})

	rs256 := func(edit map[string]any) string { return is.sign(t, "RS256", nil, is.claims(edit)) }
	good := rs256(nil)
	parts := strings.Split(good, ".")
	tests := []struct {
		name, token string
		want        int
	}{
		{"RS256", good, 200},
		{"ES256", is.sign(t, "ES256", nil, is.claims(nil)), 200},
		{"no kid", is.sign(t, "RS256", map[string]any{"kid": nil}, is.claims(nil)), 200},
		{"corpus/A11/none", is.sign(t, "none", map[string]any{"kid": nil}, is.claims(nil)), 401},
		{"corpus/A11/None", is.sign(t, "None", nil, is.claims(nil)), 401},
		{"corpus/A11/HS256 with the RSA key", is.sign(t, "HS256", nil, is.claims(nil)), 401},
		{"corpus/A11/kid is a path", is.sign(t, "RS256", map[string]any{"kid": "../../etc/passwd"}, is.claims(nil)), 401},
		{"corpus/A11/jku", other.sign(t, "RS256", map[string]any{"jku": other.URL + "/keys"}, is.claims(nil)), 401},
		{"jwk in the header", other.sign(t, "RS256", map[string]any{"jwk": rsaJWK("r1", &other.rsa.PublicKey)}, is.claims(nil)), 401},
		{"signed by another", other.sign(t, "RS256", nil, is.claims(nil)), 401},
		{"of another issuer", other.sign(t, "RS256", nil, other.claims(nil)), 401},
		{"issuer with a slash", rs256(map[string]any{"iss": is.URL + "/"}), 401},
		{"no issuer", rs256(map[string]any{"iss": nil}), 401},
		{"corpus/A12/no audience", rs256(map[string]any{"aud": nil}), 401},
		{"corpus/A12/other audience", rs256(map[string]any{"aud": "https://other.example/mcp"}), 401},
		{"corpus/A12/array with ours", rs256(map[string]any{"aud": []string{"https://other.example", gatewayURL}}), 200},
		{"array without ours", rs256(map[string]any{"aud": []string{"https://other.example"}}), 401},
		{"empty array", rs256(map[string]any{"aud": []string{}}), 401},
		{"prefix of our audience", rs256(map[string]any{"aud": "https://gw.example"}), 401},
		{"longer than our audience", rs256(map[string]any{"aud": gatewayURL + "/x"}), 401},
		{"audience with a slash", rs256(map[string]any{"aud": gatewayURL + "/"}), 200},
		{"audience in upper case", rs256(map[string]any{"aud": "HTTPS://GW.Example/mcp"}), 200},
		{"audience with another path case", rs256(map[string]any{"aud": "https://gw.example/MCP"}), 401},
		{"audience with its port", rs256(map[string]any{"aud": "https://gw.example:443/mcp"}), 200},
		{"audience with another port", rs256(map[string]any{"aud": "https://gw.example:8443/mcp"}), 401},
		{"audience over http", rs256(map[string]any{"aud": "http://gw.example/mcp"}), 401},
		{"further audience", rs256(map[string]any{"aud": "api://extra"}), 200},
		{"corpus/A13/59 s late", rs256(map[string]any{"exp": now - 59}), 200},
		{"corpus/A13/61 s late", rs256(map[string]any{"exp": now - 61}), 401},
		{"no expiry", rs256(map[string]any{"exp": nil}), 401},
		{"expiry a text", rs256(map[string]any{"exp": "tomorrow"}), 401},
		{"59 s early", rs256(map[string]any{"nbf": now + 59}), 200},
		{"61 s early", rs256(map[string]any{"nbf": now + 61}), 401},
		{"no subject", rs256(map[string]any{"sub": nil}), 401},
		{"no scope", rs256(map[string]any{"scope": nil}), 403},
		{"other scope", rs256(map[string]any{"scope": "mcp2 xmcp"}), 403},
		{"scp array", rs256(map[string]any{"scope": nil, "scp": []string{"mcp"}}), 200},
		{"scope a number", rs256(map[string]any{"scope": 5}), 401},
		{"changed claims", parts[0] + "." + b64([]byte(`{"sub":"root"}`)) + "." + parts[2], 401},
		{"no signature", parts[0] + "." + parts[1] + ".", 401},
		{"two parts", parts[0] + "." + parts[1], 401},
		{"five parts", good + ".a.b", 401},
		{"opaque", "0123456789abcdef", 401},
		{"1 MB", strings.Repeat("a", 900<<10), 401},
		{"20 KiB", rs256(map[string]any{"padding": strings.Repeat("a", 20<<10)}), 401},
	}
	for _, tt := range tests {
		t.Run("fault/T28/"+tt.name, func(t *testing.T) {
			status, who, challenge, body := knock(t, http.MethodPost, srv.URL+"/mcp", "Bearer "+tt.token)
			want := map[int]string{
				200: "",
				401: `Bearer realm="mcp-all-in-one", error="invalid_token", scope="mcp", resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"`,
				403: `Bearer realm="mcp-all-in-one", error="insufficient_scope", scope="mcp", resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"`,
			}[tt.want]
			if len(tt.token) > maxCredential {
				want = strings.Replace(want, "invalid_token", "invalid_request", 1)
				if status == http.StatusRequestHeaderFieldsTooLarge {
					return // the server did not even read the request
				}
			}
			if status != tt.want || challenge != want {
				t.Errorf("%d, challenge %q", status, challenge)
			}
			if (who == "token:alice") != (tt.want == 200) {
				t.Errorf("came in as %q", who)
			}
			if strings.Contains(body, tt.token) {
				t.Error("the answer repeats the token")
			}
		})
	}
	status, _, challenge, _ := knock(t, http.MethodGet, srv.URL)
	if want := `Bearer realm="mcp-all-in-one", scope="mcp", resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"`; status != 401 || challenge != want {
		t.Errorf("without a token: %d %s", status, challenge)
	}
}

func TestTokenScopes(t *testing.T) {
	is := newIssuer(t)
	rs := is.resourceServer(t, nil)
	for scope, want := range map[string]Grant{
		"mcp":                          {},
		"mcp admin":                    {},
		"mcp mcp:admin":                {Admin: true},
		"mcp readonly openid":          {ReadOnly: true},
		"mcp schema:a server:b tool:c": {Schemas: []string{"a"}, Servers: []string{"b"}, Tools: []string{"c"}},
	} {
		p, refusal := rs.authenticate(t.Context(), is.sign(t, "ES256", nil, is.claims(map[string]any{"scope": scope})))
		if refusal != nil {
			t.Fatalf("%s: %v", scope, refusal)
		}
		if diff := cmp.Diff(want, p.Grant); diff != "" {
			t.Errorf("%s (-want +got):\n%s", scope, diff)
		}
		if p.Expires.IsZero() {
			t.Error("the principal does not expire")
		}
	}
}

func TestKeyRotation(t *testing.T) {
	is := newIssuer(t)
	rs := is.resourceServer(t, nil)
	enters := func(token string) bool {
		_, refusal := rs.authenticate(t.Context(), token)
		return refusal == nil
	}
	if !enters(is.sign(t, "RS256", nil, is.claims(nil))) {
		t.Fatal("a good token was refused")
	}
	for i := range 200 {
		if enters(is.sign(t, "RS256", map[string]any{"kid": fmt.Sprintf("made-up-%d", i)}, is.claims(nil))) {
			t.Fatal("a made-up key id was accepted")
		}
	}
	if n := is.fetches.Load(); n != 1 {
		t.Errorf("fault/T28: %d fetches of the keys under a storm of key ids, want 1", n)
	}
	if !enters(is.sign(t, "RS256", nil, is.claims(nil))) {
		t.Error("a good token was refused after the storm")
	}

	is.rsa = is.rsa2
	is.publish(rsaJWK("r2", &is.rsa2.PublicKey))
	rotated := is.sign(t, "RS256", map[string]any{"kid": "r2"}, is.claims(nil))
	if enters(rotated) {
		t.Error("a new key was known without a fetch")
	}
	keys := rs.keys
	keys.mu.Lock()
	keys.fetched = keys.fetched.Add(-fetchEvery) // half a minute later
	keys.mu.Unlock()
	// A request right after another shares its fetch, so the first one may still
	// fail.
	for deadline := time.Now().Add(10 * time.Second); !enters(rotated); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("a rotated key was not found")
		}
	}
	if n := is.fetches.Load(); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
}

func TestIssuerMetadata(t *testing.T) {
	tests := []struct {
		name     string
		metadata map[string]any
		jwks     string
		ok       bool
	}{
		{name: "right", ok: true},
		{name: "another issuer", metadata: map[string]any{"issuer": "https://evil.example"}},
		{name: "issuer with a slash", metadata: map[string]any{"issuer": "SELF/"}},
		{name: "no keys", metadata: map[string]any{"jwks_uri": ""}},
		{name: "keys on a private address", metadata: map[string]any{"jwks_uri": "https://169.254.169.254/keys"}},
		{name: "keys in a file", metadata: map[string]any{"jwks_uri": "file:///etc/passwd"}},
		{name: "keys from the configuration", metadata: map[string]any{"issuer": "https://evil.example"}, jwks: "/keys", ok: true},
	}
	for _, tt := range tests {
		t.Run("fault/T28/"+tt.name, func(t *testing.T) {
			is := newIssuer(t)
			if v, ok := tt.metadata["issuer"].(string); ok {
				tt.metadata["issuer"] = strings.Replace(v, "SELF", is.URL, 1)
			}
			is.metadata = tt.metadata
			rs := is.resourceServer(t, func(c *config.OAuth) {
				if tt.jwks != "" {
					c.JWKS = is.URL + tt.jwks
				}
			})
			for range 3 {
				_, refusal := rs.authenticate(t.Context(), is.sign(t, "RS256", nil, is.claims(nil)))
				if (refusal == nil) != tt.ok || refusal != nil && refusal.Status != 401 {
					t.Errorf("%v", refusal)
				}
			}
		})
	}
}

func TestResourceMetadata(t *testing.T) {
	is := newIssuer(t)
	rs := is.resourceServer(t, nil)
	if diff := cmp.Diff([]string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"}, rs.MetadataPaths()); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	mux := http.NewServeMux()
	for _, path := range rs.MetadataPaths() {
		mux.Handle(path, rs)
	}
	srv := guardedBy(t, mux)
	for _, path := range rs.MetadataPaths() {
		_, body := must.Answer(t, http.DefaultClient, must.Request(t, http.MethodGet, srv.URL+path, "", "Host", "evil.example", "X-Forwarded-Host", "evil.example"))
		var got map[string]any
		must.Parse(t, body, &got)
		want := map[string]any{
			"resource": gatewayURL, "authorization_servers": []any{is.URL}, "scopes_supported": []any{"mcp", "mcp:admin"},
			"bearer_methods_supported": []any{"header"}, "resource_name": "mcp-all-in-one",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	status, _, _, _ := knock(t, http.MethodPost, srv.URL+rs.MetadataPaths()[0])
	if status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", status)
	}
	root := is.resourceServer(t, func(c *config.OAuth) { c.Resource = "https://gw.example/" })
	if got := root.challenge(""); !strings.Contains(got, `resource_metadata="https://gw.example/.well-known/oauth-protected-resource"`) {
		t.Errorf("at the root: %s", got)
	}
	for _, bad := range []string{"", "gw.example", "/mcp", "ftp://gw.example", "https://gw.example/#x"} {
		if _, err := NewResourceServer(config.OAuth{Issuer: is.URL, Resource: bad}, nil); err == nil {
			t.Errorf("resource %q was accepted", bad)
		}
	}
}

// With both keys and tokens configured, each credential is checked only by its own
// kind.
func TestKeysAndTokens(t *testing.T) {
	is := newIssuer(t)
	keys := newKeys(t)
	plain, key := create(t, keys, "k", Grant{}, nil)
	srv := guarded(t, &Policy{Required: true, Keys: keys, Tokens: is.resourceServer(t, nil)})
	if _, who, _, _ := knock(t, http.MethodGet, srv.URL, "Bearer "+plain); who != "key:"+key.ID {
		t.Errorf("key: %q", who)
	}
	if _, who, _, _ := knock(t, http.MethodGet, srv.URL, "Bearer "+is.sign(t, "RS256", nil, is.claims(nil))); who != "token:alice" {
		t.Errorf("token: %q", who)
	}
	if status, _, _, _ := knock(t, http.MethodGet, srv.URL, "Bearer aio_unknown"); status != 401 || is.fetches.Load() != 1 {
		t.Errorf("unknown key: %d, %d fetches", status, is.fetches.Load())
	}
}
