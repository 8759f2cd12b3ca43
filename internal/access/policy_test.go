package access

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// guarded returns a server behind a policy. It answers with the principal of the
// request.
func guarded(t *testing.T, p *Policy) *httptest.Server {
	t.Helper()
	return guardedBy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, refusal := p.Authenticate(r)
		if refusal != nil {
			refusal.Write(w)
			return
		}
		w.Header().Set("X-Who", who.ID)
	}))
}

func guardedBy(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func knock(t *testing.T, method, target string, authorization ...string) (status int, who, challenge, body string) {
	t.Helper()
	req := must.Request(t, method, target, "")
	if authorization != nil {
		req.Header["Authorization"] = authorization
	}
	resp, text := must.Answer(t, http.DefaultClient, req)
	return resp.StatusCode, resp.Header.Get("X-Who"), resp.Header.Get("WWW-Authenticate"), text
}

// fault/T29
func TestCredentialMatrix(t *testing.T) {
	keys := newKeys(t)
	good, key := create(t, keys, "good", Grant{}, nil)
	revoked, _ := create(t, keys, "revoked", Grant{}, nil)
	if _, err := keys.Revoke("revoked"); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	expired, _ := create(t, keys, "expired", Grant{}, &past)
	states := []struct {
		name   string
		header []string
		query  string
		ok     bool
	}{
		{name: "none"},
		{name: "good", header: []string{"Bearer " + good}, ok: true},
		{name: "lower-case bearer", header: []string{"bearer " + good}, ok: true},
		{name: "upper-case bearer", header: []string{"BEARER " + good}, ok: true},
		{name: "empty", header: []string{""}},
		{name: "scheme alone", header: []string{"Bearer"}},
		{name: "scheme and space", header: []string{"Bearer "}},
		{name: "raw token", header: []string{good}},
		{name: "two spaces", header: []string{"Bearer  " + good}},
		{name: "tab", header: []string{"Bearer\t" + good}},
		{name: "comma", header: []string{"Bearer " + good + ", Bearer " + good}},
		{name: "trailing text", header: []string{"Bearer " + good + " x"}},
		{name: "quoted", header: []string{`Bearer "` + good + `"`}},
		{name: "basic", header: []string{"Basic " + good}},
		{name: "basic encoded", header: []string{"Basic YWlvOmFpbw=="}},
		{name: "digest", header: []string{`Digest username="x"`}},
		{name: "wrong", header: []string{"Bearer aio_" + strings.Repeat("x", 43)}},
		{name: "one character off", header: []string{"Bearer " + good[:len(good)-1] + "_"}},
		{name: "prefix of it", header: []string{"Bearer " + good[:len(good)-1]}},
		{name: "longer", header: []string{"Bearer " + good + "A"}},
		{name: "upper-case key", header: []string{"Bearer " + strings.ToUpper(good)}},
		{name: "its hash", header: []string{"Bearer " + key.Hash}},
		{name: "prefixed hash", header: []string{"Bearer aio_" + key.Hash}},
		{name: "a token of nobody", header: []string{"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."}},
		{name: "revoked", header: []string{"Bearer " + revoked}},
		{name: "expired", header: []string{"Bearer " + expired}},
		{name: "two headers", header: []string{"Bearer " + good, "Bearer " + good}},
		{name: "two headers, one bad", header: []string{"Bearer x", "Bearer " + good}},
		{name: "64 KiB header", header: []string{"Bearer " + strings.Repeat("a", 64<<10)}},
		{name: "query", query: "?access_token=" + good},
		{name: "query and header", query: "?a=1&access_token=" + good, header: []string{"Bearer " + good}},
		{name: "apikey in query", query: "?apikey=" + good},
		{name: "other query", query: "?session=1", header: []string{"Bearer " + good}, ok: true},
	}
	policies := map[string]*Policy{
		"required": {Required: true, Keys: keys}, "required, no keys": {Required: true}, "open": {}, "open with keys": {Keys: keys},
	}
	for kind, policy := range policies {
		srv := guarded(t, policy)
		for _, tt := range states {
			t.Run("fault/T29/"+kind+"/"+tt.name, func(t *testing.T) {
				for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"} {
					status, who, challenge, body := knock(t, method, srv.URL+"/mcp"+tt.query, tt.header...)
					wantStatus, wantWho := 401, ""
					switch {
					case tt.ok && policy.Keys != nil:
						wantStatus, wantWho = 200, "key:"+key.ID
					case tt.header == nil && tt.query == "" && !policy.Required:
						wantStatus, wantWho = 200, "anonymous"
					}
					if status != wantStatus || who != wantWho {
						t.Errorf("%s: %d as %q, want %d as %q", method, status, who, wantStatus, wantWho)
					}
					if status == 401 && !strings.HasPrefix(challenge, "Bearer ") {
						t.Errorf("%s: challenge %q", method, challenge)
					}
					if strings.Contains(body+challenge, good) {
						t.Errorf("%s: the answer repeats the key", method)
					}
				}
			})
		}
	}
}

func TestAnonymousIsLocal(t *testing.T) {
	for remote, ok := range map[string]bool{
		"127.0.0.1:5": true, "[::1]:5": true, "127.8.9.1:5": true, "@": true, "": true,
		"192.168.0.7:5": false, "[fe80::1]:5": false, "8.8.8.8:1": false, "garbage": false, "127.0.0.1.evil:5": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = remote
		who, refusal := new(Policy).Authenticate(r)
		if (refusal == nil) != ok || ok && (who.ID != "anonymous" || who.MayConfigure()) {
			t.Errorf("from %q: %q, %v", remote, who.ID, refusal)
		}
	}
}

// Behind a proxy on this machine all clients seem to be on this machine.
func TestForwardedIsNotLocal(t *testing.T) {
	keys := newKeys(t)
	good, key := create(t, keys, "good", Grant{}, nil)
	for _, header := range []string{
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Prefix",
		"X-Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP", "X-Original-Forwarded-For",
	} {
		t.Run("door/16 "+header, func(t *testing.T) {
			ask := func(p *Policy, authorization ...string) (Principal, *Refusal) {
				r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
				r.RemoteAddr = "127.0.0.1:5"
				r.Header.Set(header, "")
				r.Header["Authorization"] = authorization
				if got := p.Forwarded(r); (got == nil) != (p.Keys != nil) {
					t.Errorf("with keys %v: %v", p.Keys != nil, got)
				}
				return p.Authenticate(r)
			}
			for _, p := range []*Policy{{}, {Keys: keys}} {
				if _, refusal := ask(p); refusal == nil || refusal.Status != http.StatusForbidden || !strings.Contains(refusal.Reason, "access.keys") {
					t.Errorf("without a key: %+v", refusal)
				}
			}
			if who, refusal := ask(&Policy{Keys: keys}, "Bearer "+good); refusal != nil || who.ID != "key:"+key.ID {
				t.Errorf("with a key: %v, %v", who.ID, refusal)
			}
			if _, refusal := ask(&Policy{Keys: keys, Required: true}); refusal == nil || refusal.Status != http.StatusUnauthorized {
				t.Errorf("where one is required: %+v", refusal)
			}
		})
	}
}

// Only clients on this machine that may configure the gateway choose folders.
func TestWhoChoosesFolders(t *testing.T) {
	keys := newKeys(t)
	admin, _ := create(t, keys, "admin", Grant{Admin: true}, nil)
	reader, _ := create(t, keys, "reader", Grant{Admin: true, ReadOnly: true}, nil)
	plain, _ := create(t, keys, "plain", Grant{}, nil)
	for _, tt := range []struct {
		name, remote, key, proxy string
		want                     bool
	}{
		{"an administrator here", "127.0.0.1:5", admin, "", true},
		{"an administrator elsewhere", "192.0.2.1:5", admin, "", false},
		{"an administrator behind a proxy", "127.0.0.1:5", admin, "192.0.2.1", false},
		{"a reader", "127.0.0.1:5", reader, "", false},
		{"a key", "127.0.0.1:5", plain, "", false},
		{"no key", "127.0.0.1:5", "", "", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.RemoteAddr = tt.remote
		if tt.key != "" {
			r.Header.Set("Authorization", "Bearer "+tt.key)
		}
		if tt.proxy != "" {
			r.Header.Set("X-Forwarded-For", tt.proxy)
		}
		if who, refusal := (&Policy{Keys: keys}).Authenticate(r); refusal != nil || who.MayChooseFolder() != tt.want {
			t.Errorf("%s: %t, %v", tt.name, who.MayChooseFolder(), refusal)
		}
	}
	if !Local.MayChooseFolder() || Owner.MayChooseFolder() || Anonymous.MayChooseFolder() {
		t.Error("of those without a key, a program on stdio alone is known to be here and may configure")
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.RemoteAddr = "127.0.0.1:5"
	r.Header.Set("Authorization", "Bearer nonsense")
	if who, refusal := (&Policy{Keys: keys}).Authenticate(r); refusal == nil || who.Here {
		t.Errorf("refused and here: %+v", who)
	}
}

func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  a", "Bearer", "Basic x", "Bearer a=b", "Bearer a=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, ok := bearer([]string{header})
		if ok && (!strings.EqualFold(header, "Bearer "+token) || strings.ContainsAny(token, " \t,;\"\r\n") || token == "") {
			t.Errorf("%q gave %q", header, token)
		}
	})
}

// TestWithin checks that a restricted principal keeps its identity and gets no
// right that it lacks.
func TestWithin(t *testing.T) {
	t.Parallel()
	admin := Grant{Servers: []string{"fs"}, Admin: true, Mode: "compact"}
	plain := Local
	plain.Admin = false
	bound := Principal{ID: "key:1", Grant: Grant{Servers: []string{"git"}, ReadOnly: true}}
	for _, tt := range []struct {
		name                        string
		who                         Principal
		seesFS, seesGit, configures bool
		readOnly                    bool
	}{
		{"a user without admin", plain, true, false, false, false},
		{"a user with admin", Local, true, false, true, false},
		{"a key for another server", bound, false, true, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.who.Within(admin)
			if got.ID != tt.who.ID || got.Mode != "compact" || got.ReadOnly != tt.readOnly || got.MayConfigure() != tt.configures ||
				got.MaySee("default", "fs", "") != tt.seesFS || got.MaySee("default", "git", "") != tt.seesGit {
				t.Errorf("Within: %+v", got)
			}
		})
	}
	for _, tt := range []struct{ own, grant, want int }{{10, 1000, 10}, {10, 0, 10}, {0, 10, 10}, {1000, 10, 10}, {0, 0, 0}} {
		if got := (Principal{ID: "key:1", Grant: Grant{Calls: tt.own}}).Within(Grant{Calls: tt.grant}); got.Calls != tt.want {
			t.Errorf("%d calls a minute within %d: %d, want %d", tt.own, tt.grant, got.Calls, tt.want)
		}
	}
}
