package upstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/secrets"
	"mcp-all-in-one/internal/upstream"
)

// asUser returns a legacy client of a user.
func asUser(user string) *upstream.Caller {
	return &upstream.Caller{Session: "s-" + user, Principal: user, Version: mcp.LatestLegacy}
}

// tokenOf returns the token in the environment of the process that serves a user.
func (w *world) tokenOf(user string) string {
	w.t.Helper()
	text, err := w.ask(asUser(user), nil, "hub", "env", "{}")
	if err != nil {
		return reasonOf(err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "HUB_TOKEN="); ok {
			return value
		}
	}
	return "none"
}

func setValue(t *testing.T, dir, user, value string) {
	t.Helper()
	must.OK(t, secrets.NewValues(dir).Set(user, "hub", value))
}

// Each user has a process with his own value, and with no value of another user.
func TestUserValues(t *testing.T) {
	t.Setenv("HUB_TOKEN", "of the gateway") // no server gets it
	dir := t.TempDir()
	entry := fake(t, "hub", "-role", "hostile", "-need", "HUB_TOKEN")
	entry.InheritEnv.All = true
	entry.PerUser = map[string]config.UserValue{"hub": {Env: "HUB_TOKEN", Prefix: "t:", Description: "token of the hub"}}
	var log bytes.Buffer
	w := newWorld(t, worldOptions{values: secrets.NewValues(dir), log: &log}, entry)
	if s := w.state("hub", upstream.SignIn); !strings.Contains(s.Reason.String(), "users who have set hub") {
		t.Errorf("reason %q", s.Reason)
	}
	if f := w.up("hub").Features(asUser("key:ann")); f != nil {
		t.Errorf("tools are listed that nobody has seen: %v", f)
	}
	_, err := w.ask(asUser("key:ann"), nil, "hub", "env", "{}")
	if err == nil || reasonOf(err) != "value_missing" {
		t.Fatalf("error %v", err)
	}
	must.Contain(t, err.Error(), `"hub"`, "token of the hub", "mcp-all-in-one secret set hub --user key:ann")
	setValue(t, dir, "key:ann", "ann-1")
	setValue(t, dir, "key:bob", "bob-1")
	for user, want := range map[string]string{"key:ann": "t:ann-1", "key:bob": "t:bob-1", "key:eve": "value_missing", "": "value_missing"} {
		if got := w.tokenOf(user); got != want {
			t.Errorf("%s has %q, want %q", user, got, want)
		}
	}
	if f := w.up("hub").Features(asUser("key:eve")); f == nil || len(f.Tools) != len(mcptest.HostileTools) {
		t.Errorf("who has given no value sees %v", f)
	}
	setValue(t, dir, "key:ann", "ann-2")
	if got := w.tokenOf("key:ann"); got != "t:ann-2" {
		t.Errorf("after a change: %q", got)
	}
	if got := w.tokenOf("key:bob"); got != "t:bob-1" {
		t.Errorf("the other user has %q", got)
	}
	must.OK(t, secrets.NewValues(dir).Delete("key:ann", "hub"))
	if got := w.tokenOf("key:ann"); got != "value_missing" {
		t.Errorf("after the value was removed: %q", got)
	}
	if n := w.up("hub").Status().Connections; n != 1 {
		t.Errorf("%d connections, want one: bob's", n)
	}
	w.set.Close(t.Context())
	for _, secret := range []string{"ann-1", "ann-2", "bob-1"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// If a server lists its tools without a value, all users see them.
func TestUserValuesPrimary(t *testing.T) {
	entry := fake(t, "hub", "-role", "hostile")
	entry.PerUser = map[string]config.UserValue{"hub": {Env: "HUB_TOKEN"}}
	dir := t.TempDir()
	w := newWorld(t, worldOptions{values: secrets.NewValues(dir)}, entry)
	w.state("hub", upstream.Ready)
	if f := w.up("hub").Features(asUser("key:ann")); f == nil || len(f.Tools) == 0 {
		t.Error("no tools")
	}
	if got := w.tokenOf("key:ann"); got != "value_missing" {
		t.Errorf("without a value: %q", got)
	}
	setValue(t, dir, "key:ann", "ann")
	if got := w.tokenOf("key:ann"); got != "ann" {
		t.Errorf("with a value: %q", got)
	}
}

// Over HTTP each request of a user has his value, in either era.
func TestUserValuesInHeaders(t *testing.T) {
	for name, versions := range map[string][]string{"both": nil, "legacy": mcpserver.LegacyVersions, "modern": mcpserver.ModernVersions} {
		t.Run(name, func(t *testing.T) {
			demo := mcpserver.Demo()
			if versions != nil {
				demo.Versions = versions
			}
			inner, stop := demo.HTTP("")
			t.Cleanup(stop)
			var mu sync.Mutex
			var seen []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				key := r.Header.Get("X-Key")
				if key == "" || key == "Key wrong" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				mu.Lock()
				seen = append(seen, key)
				mu.Unlock()
				inner.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			entry := remote("hub", server.URL+"/mcp")
			entry.PerUser = map[string]config.UserValue{"hub": {Header: "X-Key", Prefix: "Key "}}
			dir := t.TempDir()
			w := newWorld(t, worldOptions{values: secrets.NewValues(dir)}, entry)
			w.state("hub", upstream.SignIn)
			setValue(t, dir, "key:ann", "ann")
			setValue(t, dir, "key:bob", "bob")
			setValue(t, dir, "key:eve", "two\r\nlines")
			for _, user := range []string{"key:ann", "key:bob"} {
				for _, c := range []*upstream.Caller{
					asUser(user),
					{Session: "r-" + user, Principal: user, Version: mcp.LatestLegacy, Offer: mcp.Offer{Roots: true}},
					{Principal: user, Version: mcp.LatestModern, Era: mcp.Modern},
				} {
					mu.Lock()
					seen = nil
					mu.Unlock()
					w.echoAs(c, "hub")
					mu.Lock()
					want := "Key " + strings.TrimPrefix(user, "key:")
					if len(seen) == 0 || seen[len(seen)-1] != want {
						t.Errorf("%s came with %q", user, seen)
					}
					mu.Unlock()
				}
			}
			setValue(t, dir, "key:joe", "wrong")
			if _, err := w.ask(asUser("key:joe"), nil, "hub", "echo", `{"message":"hi"}`); reasonOf(err) != "value_missing" || !strings.Contains(err.Error(), "refused the value that you set: hub. Set another one with: mcp-all-in-one secret set hub --user key:joe") {
				t.Errorf("a value that the server refuses: %v", err)
			}
			mu.Lock()
			seen = nil
			mu.Unlock()
			if _, err := w.ask(asUser("key:eve"), nil, "hub", "echo", `{"message":"hi"}`); err == nil || strings.Contains(err.Error(), "two") || reasonOf(err) != "value_missing" || !strings.Contains(err.Error(), "secret set hub --user key:eve") {
				t.Errorf("a value with a line break: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if i := slices.IndexFunc(seen, func(key string) bool { return strings.Contains(key, "two") }); i >= 0 {
				t.Errorf("it was sent: %q", seen[i])
			}
		})
	}
}

// The connection of one user never replaces the connection of another.
func TestManyUsers(t *testing.T) {
	inner, stop := mcpserver.Demo().HTTP("")
	t.Cleanup(stop)
	server := httptest.NewServer(inner)
	t.Cleanup(server.Close)
	entry := remote("hub", server.URL+"/mcp")
	entry.PerUser = map[string]config.UserValue{"hub": {Header: "X-Key"}}
	dir := t.TempDir()
	w := newWorld(t, worldOptions{values: secrets.NewValues(dir)}, entry)
	w.state("hub", upstream.Ready)
	const users = 20
	for i := range users {
		user := fmt.Sprintf("key:%d", i)
		setValue(t, dir, user, "value")
		w.echoAs(asUser(user), "hub")
	}
	if n := w.up("hub").Status().Connections; n != users+1 {
		t.Errorf("%d connections, want one for each of %d users and the shared one", n, users)
	}
}

// The only client of a stdio session is the user of the primary connection.
func TestUserValuesOnStdio(t *testing.T) {
	entry := fake(t, "hub", "-role", "hostile", "-need", "HUB_TOKEN")
	entry.PerUser = map[string]config.UserValue{"hub": {Env: "HUB_TOKEN"}}
	dir := t.TempDir()
	g := upstream.NewGreeting("local")
	g.Set(asUser("local"))
	w := newWorld(t, worldOptions{values: secrets.NewValues(dir), greeting: g}, entry)
	w.state("hub", upstream.SignIn)
	for _, value := range []string{"", "one", "two", ""} {
		want := value
		if value != "" {
			setValue(t, dir, "local", value)
		} else if err := secrets.NewValues(dir).Delete("local", "hub"); err != nil && !errors.Is(err, secrets.ErrNoSecret) {
			t.Fatal(err)
		} else {
			want = "value_missing"
		}
		if got := w.tokenOf("local"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
