package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
)

func TestLogin(t *testing.T) {
	c := start(t)
	c.want(401, "GET", "session", nil)
	code := c.h.Logins.NewCode(admin)
	resp := c.send("POST", "login", map[string]string{"code": code})
	resp.Body.Close()
	cookie := resp.Cookies()[0]
	if resp.StatusCode != 200 || cookie.Name != "aio_s" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" {
		t.Fatalf("login = %d %v", resp.StatusCode, cookie)
	}
	var session struct{ Name, Scope string }
	c.get("session", &session)
	if session.Scope != api.ScopeAdmin {
		t.Errorf("session = %+v", session)
	}
	c.want(401, "POST", "login", map[string]string{"code": code}) // a code works once
	c.want(204, "POST", "logout", nil)
	c.want(401, "GET", "session", nil)
}

func TestLoginUnderTLS(t *testing.T) {
	h, err := New(t.Context(), memoryOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	srv := httptest.NewTLSServer(h)
	defer srv.Close()
	resp, _ := must.Answer(t, srv.Client(), must.Request(t, "POST", srv.URL+"/api/v1/login", `{"code":"`+h.Logins.NewCode(admin)+`"}`, api.ChangeHeader, "1"))
	if cookie := resp.Cookies()[0]; cookie.Name != "__Host-aio_s" || !cookie.Secure {
		t.Errorf("cookie = %v", cookie)
	}
}

func TestRefusals(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	for _, tt := range []struct {
		name   string
		method string
		path   string
		status int
		code   string
		header []string
	}{
		{"a change without the header", "POST", "logout", 403, "header", []string{api.ChangeHeader, ""}},
		{"a change from another site", "POST", "logout", 403, "origin", []string{"Origin", "http://evil.example"}},
		{"a change from a null origin", "POST", "logout", 403, "origin", []string{"Origin", "null"}},
		{"a read from another site", "GET", "session", 403, "origin", []string{"Sec-Fetch-Site", "cross-site"}},
		{"events from another site", "GET", "events", 403, "origin", []string{"Origin", "http://evil.example"}},
		{"another host name", "GET", "session", 403, "host", []string{"Host", "evil.example"}},
		{"an unknown path", "GET", "nothing", 404, "not_found", nil},
		{"a wrong method", "DELETE", "session", 405, "method", nil},
		{"a bearer token that nobody knows", "GET", "session", 401, "login", []string{"Authorization", "Bearer x"}},
		{"a path with an empty part", "GET", "servers//demo", 404, "not_found", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := *c
			c.T = t
			var body api.Refusal
			must.Parse(t, c.want(tt.status, tt.method, tt.path, nil, tt.header...), &body)
			if body.Error.Code != tt.code {
				t.Errorf("code = %q, want %q", body.Error.Code, tt.code)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		scope, method, path string
		body                any
		want                int
	}{
		{api.ScopeRead, "GET", "servers", nil, 200},
		{api.ScopeRead, "POST", "bench", openBody{Target: bench.Target{Server: "demo"}}, 403},
		{api.ScopeCall, "POST", "bench", openBody{Target: bench.Target{Server: "demo"}}, 200},
		{api.ScopeCall, "POST", "bench", openBody{Target: bench.Target{Command: "example-server"}, Confirm: "example-server"}, 403},
		{api.ScopeCall, "POST", "bench", openBody{Target: bench.Target{URL: "http://127.0.0.1:9/mcp"}}, 403},
		{api.ScopeAdmin, "POST", "bench", openBody{Target: bench.Target{Command: "example-server"}}, 409},
		{api.ScopeAdmin, "POST", "bench", openBody{Target: bench.Target{Command: "example-server"}, Confirm: "example-server"}, 200},
		{api.ScopeCall, "POST", "servers/default/demo/restart", nil, 403},
		{api.ScopeAdmin, "POST", "servers/default/demo/restart", nil, 204},
		{api.ScopeCall, "POST", "servers/default/demo/ping", nil, 403},
		{api.ScopeAdmin, "POST", "servers/default/demo/ping", nil, 200},
		{api.ScopeCall, "POST", "codes", nil, 403},
		{api.ScopeAdmin, "POST", "codes", nil, 200},
		{api.ScopeCall, "POST", "reload", nil, 403},
		{api.ScopeAdmin, "POST", "reload", nil, 200},
	} {
		t.Run(tt.scope+" "+tt.method+" "+tt.path, func(t *testing.T) {
			start(t).login(tt.scope).want(tt.want, tt.method, tt.path, tt.body)
		})
	}
}

func TestBearer(t *testing.T) {
	c := start(t, func(o *Options) {
		o.Bearer = func(r *http.Request) (access.Principal, bool) {
			return principals[api.ScopeRead], r.Header.Get("Authorization") == "Bearer good"
		}
	})
	c.want(200, "GET", "session", nil, "Authorization", "Bearer good")
	c.want(401, "GET", "session", nil, "Authorization", "Bearer bad")
	c.want(403, "POST", "codes", nil, "Authorization", "Bearer good")
}

// TestKeptLogins checks that stored logins belong to principals and end with
// them.
func TestKeptLogins(t *testing.T) {
	dir := t.TempDir()
	rights, valid := access.Grant{Admin: true}, true
	current := func(who access.Principal) (access.Principal, bool) {
		who.Grant = rights
		return who, valid && who.ID != ""
	}
	first := start(t, func(o *Options) { o.StateDir, o.Current = dir, current })
	first.want(200, "POST", "login", map[string]string{"code": first.h.Logins.NewCode(access.Principal{ID: "key:boss", Name: "boss", Grant: rights})})
	must.OK(t, first.h.Close())
	again := start(t, func(o *Options) { o.StateDir, o.Current = dir, current })
	address, err := url.Parse(again.url)
	if err != nil {
		t.Fatal(err)
	}
	before, err := url.Parse(first.url)
	if err != nil {
		t.Fatal(err)
	}
	again.client.Jar.SetCookies(address, first.client.Jar.Cookies(before))
	t.Run("door/1 it keeps its principal", func(t *testing.T) {
		var session struct{ Name, Scope string }
		again.get("session", &session)
		if session.Name != "boss" || session.Scope != api.ScopeAdmin {
			t.Errorf("session = %+v", session)
		}
	})
	t.Run("door/1 it has the rights that the principal has now", func(t *testing.T) {
		rights = access.Grant{}
		again.want(403, "POST", "codes", nil)
	})
	t.Run("door/1 it ends with its key", func(t *testing.T) {
		valid = false
		again.want(401, "GET", "session", nil)
	})
	t.Run("door/1 one without a principal counts for nothing", func(t *testing.T) {
		valid = true
		file := fmt.Sprintf(`{"%x":{"name":"local","scope":"admin","expires":"2999-01-01T00:00:00Z"}}`, sha256.Sum256([]byte("old")))
		must.Write(t, filepath.Join(dir, "logins.json"), file)
		old := start(t, func(o *Options) { o.StateDir = dir })
		old.want(401, "GET", "session", nil, "Cookie", "aio_s=old")
	})
	t.Run("door/1 one that was revoked is forgotten", func(t *testing.T) {
		c := start(t)
		c.want(200, "POST", "login", map[string]string{"code": c.h.Logins.NewCode(principals[api.ScopeCall])})
		c.h.End(principals[api.ScopeCall].ID)
		c.want(401, "GET", "session", nil)
	})
}
