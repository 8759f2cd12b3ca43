package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/balancers"
)

// browses sends a request to a replica's console API as a browser does. The
// headers are pairs of a name and a value.
func (r *replica) browses(cookie, method, path, body string, headers ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://127.0.0.1:"+r.port+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if cookie != "" {
		req.AddCookie(&http.Cookie{Name: "aio_s", Value: cookie})
	}
	req.Header.Set("X-MCP-AIO", "1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(text)
}

// code returns a one-time code for the holder of a key.
func (r *replica) code(key string) string {
	r.t.Helper()
	status, text := r.says(key, "codes", "")
	var got struct{ Code string }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		r.t.Fatalf("status %d: %s", status, text)
	}
	return got.Code
}

// logsIn returns the cookie for a code.
func (r *replica) logsIn(code string) string {
	r.t.Helper()
	resp, text := r.browses("", http.MethodPost, "login", `{"code":"`+code+`"}`)
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 {
		r.t.Fatalf("status %d: %s", resp.StatusCode, text)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		r.t.Errorf("cookie %v", c)
	}
	return c.Value
}

// session returns the status of the session that a cookie is for.
func (r *replica) session(cookie string) int {
	r.t.Helper()
	resp, _ := r.browses(cookie, http.MethodGet, "session", "")
	return resp.StatusCode
}

// TestLogin checks that a login to the console counts at all replicas, and ends at
// all of them.
func TestLogin(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`})
	a, b := c.replicas[0], c.replicas[1]
	boss := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
	gone := strings.TrimSpace(a.must("key", "create", "gone", "--scope", "admin"))
	for _, key := range []string{boss, gone} {
		enters(t, a, key)
		enters(t, b, key)
	}
	in := func(t *testing.T, cookie string, want int, at ...*replica) {
		t.Helper()
		for _, r := range at {
			if status := r.session(cookie); status != want {
				t.Errorf("status %d at %s, want %d", status, r.name, want)
			}
		}
	}
	code := a.code(boss)
	cookie := b.logsIn(code) // the balancer chose another one
	t.Run("cluster/login/everywhere", func(t *testing.T) {
		in(t, cookie, http.StatusOK, a, b)
		for _, r := range []*replica{a, b} { // a code counts once
			if resp, _ := r.browses("", http.MethodPost, "login", `{"code":"`+code+`"}`); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("status %d for a used code at %s", resp.StatusCode, r.name)
			}
		}
		var s struct{ Name, Scope string }
		if _, text := a.browses(cookie, http.MethodGet, "session", ""); json.Unmarshal([]byte(text), &s) != nil || s.Name != "boss" || s.Scope != "admin" {
			t.Errorf("session %s", text)
		}
	})
	t.Run("cluster/login/restart", func(t *testing.T) {
		b.kill()
		b.start()
		b.ready()
		in(t, cookie, http.StatusOK, a, b)
	})
	t.Run("cluster/login/forged", func(t *testing.T) {
		s := holder(t, a, boss)
		if m := s.Initialize(legacy, `{}`); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
		id := s.Header.Get("Mcp-Session-Id")
		swapped := []byte(cookie)
		swapped[len(cookie)/2] ^= 1
		for what, text := range map[string]string{
			"changed": string(swapped), "cut": cookie[:len(cookie)-4], "longer": cookie + "AAAA", "empty": "aio1.", "another use": "aio1." + strings.TrimPrefix(id, "aio2."), "a session": id,
		} {
			for _, r := range []*replica{a, b} {
				if status := r.session(text); status != http.StatusUnauthorized {
					t.Errorf("%s: status %d at %s", what, status, r.name)
				}
			}
		}
		for _, o := range []options{{secret: strings.Repeat("another-secret-", 3)}, {alter: func(_ int, _ *replica, text string) string {
			return strings.Replace(text, `"name":"test"`, `"name":"other"`, 1)
		}}} {
			other := start(t, 1, o).replicas[0]
			in(t, cookie, http.StatusUnauthorized, other)
		}
	})
	t.Run("cluster/login/another site", func(t *testing.T) {
		for _, r := range []*replica{a, b} {
			for _, headers := range [][]string{{"X-MCP-AIO", ""}, {"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}} {
				if resp, text := r.browses(cookie, http.MethodPost, "logout", "", headers...); resp.StatusCode != http.StatusForbidden {
					t.Errorf("%v: status %d: %s", headers, resp.StatusCode, text)
				}
			}
			// What replicas tell each other is not for clients.
			for _, path := range []string{"logins/ended", "logins/code", "logins/ended?replica=b"} {
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					if resp, text := r.browses(cookie, method, path, `"x"`, "Aio-Hop", "1"); resp.StatusCode != http.StatusNotFound {
						t.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, text)
					}
				}
			}
		}
		in(t, cookie, http.StatusOK, a, b)
	})
	t.Run("cluster/login/revoked", func(t *testing.T) {
		theirs := a.logsIn(b.code(gone))
		in(t, theirs, http.StatusOK, a, b)
		a.must("key", "revoke", "gone")
		await(t, "the login of a revoked key ends at b", func() bool { return b.session(theirs) == http.StatusUnauthorized })
		in(t, theirs, http.StatusUnauthorized, a)
	})
	t.Run("cluster/login/logout", func(t *testing.T) {
		stays := a.logsIn(a.code(boss))
		if resp, text := a.browses(cookie, http.MethodPost, "logout", ""); resp.StatusCode != http.StatusNoContent {
			t.Fatalf("status %d: %s", resp.StatusCode, text)
		}
		in(t, cookie, http.StatusUnauthorized, a, b) // kept by a thief
		in(t, stays, http.StatusOK, a, b)            // of another browser
		b.kill()
		if resp, text := a.browses(stays, http.MethodPost, "logout", ""); resp.StatusCode != http.StatusNoContent {
			t.Fatalf("status %d: %s", resp.StatusCode, text)
		}
		b.start()
		b.ready()
		await(t, "b hears of a logout that it has missed", func() bool { return b.session(stays) == http.StatusUnauthorized })
		a.kill()
		b.kill()
		b.start()
		b.ready()
		in(t, cookie, http.StatusUnauthorized, b)
		in(t, stays, http.StatusUnauthorized, b)
	})
}

// TestLoginBalanced checks that a console behind a balancer stays logged in, without
// an engine and without stickiness.
func TestLoginBalanced(t *testing.T) {
	c := start(t, 3, options{members: true, access: behindBalancer})
	base, err := url.Parse(balancers.HAProxy(t).Start(t, c.ports()))
	if err != nil {
		t.Fatal(err)
	}
	all := &replica{t: t, name: "the balancer", port: base.Port()}
	_, code, _ := strings.Cut(strings.TrimSpace(c.replicas[2].must("ui", "--print")), "#code=")
	cookie := all.logsIn(code)
	for range 9 {
		if status := all.session(cookie); status != http.StatusOK {
			t.Errorf("cluster/login/balanced: status %d", status)
		}
	}
	if resp, text := all.browses(cookie, http.MethodPost, "logout", ""); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d: %s", resp.StatusCode, text)
	}
	for range 9 {
		if status := all.session(cookie); status != http.StatusUnauthorized {
			t.Errorf("cluster/login/balanced: status %d after logout", status)
		}
	}
}

// TestLoginStateLost checks that a login that has ended does not count again after
// all replicas have lost their state.
func TestLoginStateLost(t *testing.T) {
	c := start(t, 2, options{members: true, access: behindBalancer})
	a, b := c.replicas[0], c.replicas[1]
	code := func() string {
		_, code, _ := strings.Cut(strings.TrimSpace(a.must("ui", "--print")), "#code=")
		return code
	}
	ended, open := b.logsIn(code()), b.logsIn(code())
	if resp, text := b.browses(ended, http.MethodPost, "logout", ""); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("status %d: %s", resp.StatusCode, text)
	}
	for _, r := range c.replicas {
		if was, is := r.session(ended), r.session(open); was != http.StatusUnauthorized || is != http.StatusOK {
			t.Fatalf("status %d and %d at %s", was, is, r.name)
		}
	}
	again := func(t *testing.T, r *replica) {
		r.kill()
		if err := os.RemoveAll(filepath.Join(r.home, ".local", "state")); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("cluster/login/new replica", func(t *testing.T) {
		again(t, b)
		b.start()
		if status := b.session(ended); status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
		if status := b.session(open); status != http.StatusOK {
			t.Errorf("status %d of a login that is open", status)
		}
	})
	t.Run("cluster/login/all replicas new", func(t *testing.T) {
		again(t, a)
		again(t, b)
		a.start()
		b.start()
		for _, r := range []*replica{a, b} {
			if status := r.session(ended); status != http.StatusUnauthorized {
				t.Errorf("status %d at %s", status, r.name)
			}
		}
		a.ready()
		if status := b.session(b.logsIn(code())); status != http.StatusOK {
			t.Errorf("status %d of a new login", status)
		}
	})
}
