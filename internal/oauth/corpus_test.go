package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/safehttp"
)

// All of these are refused before an address is shown to the person.
func TestUntrustedAuthority(t *testing.T) {
	many := make([]string, 1000)
	for i := range many {
		many[i] = "https://as.example/" + itoa(i)
	}
	tests := []struct {
		id    string
		as    map[string]any
		rs    map[string]any
		named string
		entry func(*config.Server)
	}{
		{id: "A01", named: "http://169.254.169.254/latest/meta-data"},
		{id: "A02", named: "https://evil.example/metadata"},
		{id: "A03/other origin", rs: map[string]any{"resource": "https://other.example/mcp"}},
		{id: "A03/other path", rs: map[string]any{"resource": "SELF/other"}},
		{id: "A03/longer path", rs: map[string]any{"resource": "SELF/mcp/more"}},
		{id: "A04/none", rs: map[string]any{"authorization_servers": []string{}}},
		{id: "A04/many", rs: map[string]any{"authorization_servers": many}},
		{id: "A04/file", rs: map[string]any{"authorization_servers": []string{"file:///etc/passwd"}}},
		{id: "A04/private", rs: map[string]any{"authorization_servers": []string{"https://10.0.0.1"}}},
		{id: "A05", as: map[string]any{"issuer": "https://evil.example"}},
		{id: "A05/longer", as: map[string]any{"issuer": "SELF/tenant"}},
		{id: "A06/absent", as: map[string]any{"code_challenge_methods_supported": nil}},
		{id: "A06/plain", as: map[string]any{"code_challenge_methods_supported": []string{"plain"}}},
		{id: "A07/script", as: map[string]any{"authorization_endpoint": "javascript:alert(1)"}},
		{id: "A07/shell", as: map[string]any{"authorization_endpoint": "http://a/$(calc.exe)"}},
		{id: "A07/file", as: map[string]any{"authorization_endpoint": "file:///bin/sh"}},
		{id: "A07/user", as: map[string]any{"authorization_endpoint": "https://a:b@c.example/"}},
		{id: "A07/token endpoint", as: map[string]any{"token_endpoint": "https://192.168.0.1/token"}},
		{id: "A07/registration endpoint", as: map[string]any{"registration_endpoint": "http://169.254.169.254/register"}},
		{id: "issuer of the configuration", entry: func(s *config.Server) { s.Auth.Issuer = "https://mine.example" }},
	}
	for _, tt := range tests {
		t.Run("corpus/"+tt.id, func(t *testing.T) {
			as := newAuthServer(t)
			rs := newResource(t, as)
			as.metadata = self(tt.as, as.URL)
			rs.metadata, rs.named = self(tt.rs, rs.URL), tt.named
			_, err := newKeeper(t, t.TempDir()).Login(t.Context(), rs.entry(tt.entry), LoginOptions{
				Base: plain, Show: func(address string) { t.Errorf("a person was sent to %s", address) },
			})
			if !errors.Is(err, errUntrusted) {
				t.Errorf("error %v", err)
			}
			if as.count("/token") > 0 {
				t.Error("a token was asked for")
			}
		})
	}
}

// self replaces SELF in the table by the URL of a server.
func self(m map[string]any, url string) map[string]any {
	out := map[string]any{}
	for name, v := range m {
		if text, ok := v.(string); ok {
			v = strings.Replace(text, "SELF", url, 1)
		}
		out[name] = v
	}
	return out
}

func TestCallback(t *testing.T) {
	open := func(t *testing.T, issued bool) (*callback, string) {
		t.Helper()
		ln, err := listenCallback(t.Context(), 0, "")
		if err != nil {
			t.Fatal(err)
		}
		c := newCallback(ln, "good-state", "https://as.example", issued, func(string, int) {})
		t.Cleanup(c.close)
		return c, redirectOf(ln)
	}
	get := func(t *testing.T, address, host string) int {
		t.Helper()
		resp, _ := must.Answer(t, http.DefaultClient, must.Request(t, http.MethodGet, address, "", "Host", host))
		return resp.StatusCode
	}
	c, address := open(t, false)
	origin := strings.TrimSuffix(address, "/callback")
	for _, tt := range []struct {
		id, address, host string
		status            int
	}{
		{"A08/no state", address + "?code=x", "", 400},
		{"A08/empty state", address + "?code=x&state=", "", 400},
		{"A08/wrong state", address + "?code=x&state=bad", "", 400},
		{"A08/two states", address + "?code=x&state=good-state&state=bad", "", 400},
		{"A15/other path", origin + "/callback@evil?code=x&state=good-state", "", 404},
		{"A15/longer path", origin + "/callback/?code=x&state=good-state", "", 404},
		{"A15/other host", address + "?code=x&state=good-state", "localhost", 404},
		{"A15/evil host", address + "?code=x&state=good-state", "evil.example", 404},
		{"A08/good", address + "?code=right&state=good-state&iss=https%3A%2F%2Fas.example&session_state=1", "", 200},
		{"A08/reused state", address + "?code=wrong&state=good-state", "", 400},
	} {
		t.Run("corpus/"+tt.id, func(t *testing.T) {
			if got := get(t, tt.address, tt.host); got != tt.status {
				t.Errorf("status %d, want %d", got, tt.status)
			}
		})
	}
	if code, err := c.wait(t.Context()); err != nil || code != "right" {
		t.Errorf("code %q, %v", code, err)
	}

	for _, tt := range []struct {
		id, query string
		issued    bool
	}{
		{"A09/other issuer", "code=x&iss=https%3A%2F%2Fevil.example", false},
		{"A09/other issuer, error", "error=access_denied&error_description=run+this&iss=https%3A%2F%2Fevil.example", false},
		{"A09/slash", "code=x&iss=https%3A%2F%2Fas.example%2F", true},
		{"A09/not named", "code=x", true},
	} {
		t.Run("corpus/"+tt.id, func(t *testing.T) {
			c, address := open(t, tt.issued)
			if got := get(t, address+"?state=good-state&"+tt.query, ""); got != 400 {
				t.Errorf("status %d", got)
			}
			if _, err := c.wait(t.Context()); !errors.Is(err, errUntrusted) || strings.Contains(err.Error(), "run this") || strings.Contains(err.Error(), "access_denied") {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("an error that is no code", func(t *testing.T) {
		c, address := open(t, false)
		get(t, address+"?state=good-state&error=%1b%5B2Jrun+this", "")
		if _, err := c.wait(t.Context()); err == nil || strings.Contains(err.Error(), "run this") {
			t.Errorf("error %v", err)
		}
	})
}

// A complete login whose answer is not trustworthy: the code is not redeemed.
func TestCodeIsNotRedeemed(t *testing.T) {
	for name, change := range map[string]func(url.Values){
		"corpus/A08/wrong state": func(q url.Values) { q.Set("state", "bad") },
		"corpus/A08/no state":    func(q url.Values) { q.Del("state") },
		"corpus/A09/mismatch":    func(q url.Values) { q.Set("iss", "https://evil.example") },
		"corpus/A09/absent":      func(q url.Values) { q.Del("iss") },
	} {
		t.Run(name, func(t *testing.T) {
			as := newAuthServer(t)
			as.answer = change
			if _, err := login(t, newKeeper(t, t.TempDir()), newResource(t, as).entry(nil), ""); err == nil {
				t.Error("signed in")
			}
			if as.count("/token") > 0 {
				t.Error("the code was redeemed")
			}
		})
	}
}

func TestTokenResponses(t *testing.T) {
	tests := []struct {
		id      string
		change  func(map[string]any)
		ok      bool
		expires bool
	}{
		{"A10/large", func(m map[string]any) { m["pad"] = strings.Repeat("x", safehttp.MaxBody) }, false, false},
		{"A10/no type", func(m map[string]any) { delete(m, "token_type") }, true, true},
		{"A10/other type", func(m map[string]any) { m["token_type"] = "mac" }, false, false},
		{"A10/negative", func(m map[string]any) { m["expires_in"] = -1 }, true, false},
		{"A10/absent", func(m map[string]any) { delete(m, "expires_in") }, true, false},
		{"A10/text", func(m map[string]any) { m["expires_in"] = "3600" }, true, true},
		{"A10/words", func(m map[string]any) { m["expires_in"] = "soon" }, false, false},
		{"A10/no token", func(m map[string]any) { delete(m, "access_token") }, false, false},
		{"A10/line break", func(m map[string]any) { m["access_token"] = "a\r\nX-Evil: 1" }, false, false},
	}
	for _, tt := range tests {
		t.Run("corpus/"+tt.id, func(t *testing.T) {
			as := newAuthServer(t)
			as.respond = func(m map[string]any) any { tt.change(m); return m }
			got, err := login(t, newKeeper(t, t.TempDir()), newResource(t, as).entry(nil), "")
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if tt.ok && got.Expires.IsZero() == tt.expires {
				t.Errorf("expires %v", got.Expires)
			}
		})
	}
}

func TestClientDocument(t *testing.T) {
	for _, id := range []string{
		"https://10.0.0.1/client.json", "https://127.0.0.1/client.json", "https://[::1]/client.json", "https://169.254.169.254/c",
		"https://2130706433/c", "https://app.example/", "https://app.example/c#f", "https://u:p@app.example/c",
	} {
		t.Run("corpus/A16/"+id, func(t *testing.T) {
			as := newAuthServer(t)
			as.metadata["client_id_metadata_document_supported"] = true
			s := newResource(t, as).entry(func(s *config.Server) { s.Auth.ClientID = id })
			if _, err := login(t, newKeeper(t, t.TempDir()), s, ""); err == nil {
				t.Error("signed in")
			}
			if as.count("/authorize")+as.count("/token") > 0 {
				t.Error("the authorization server was told of it")
			}
		})
	}
}

// An authorization server that registers another redirect URI than requested is not
// used.
func TestRegisteredRedirect(t *testing.T) {
	as := newAuthServer(t)
	srv := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusCreated, map[string]any{"client_id": "x", "redirect_uris": []string{"http://localhost:1/cb@evil"}})
	}))
	as.metadata["registration_endpoint"] = srv.URL
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	t.Run("corpus/A15/registered", func(t *testing.T) {
		_, err := newKeeper(t, t.TempDir()).Login(ctx, newResource(t, as).entry(nil), LoginOptions{Base: plain, Show: func(string) {}})
		if !errors.Is(err, errUntrusted) {
			t.Errorf("error %v", err)
		}
	})
}
