package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

func (g *guarded) pages(t *testing.T) {
	status, body := g.page("", "/health")
	var health map[string]any
	if err := json.Unmarshal([]byte(body), &health); status != 200 || err != nil || health["status"] != "degraded" || len(health) != 1 {
		t.Errorf("/health without a key: %d %s", status, body)
	}
	if _, body := g.page("bound", "/health"); !strings.Contains(body, `"name":"two"`) || strings.Contains(body, `"one"`) || strings.Contains(body, "broken") {
		t.Errorf("/health of a bound key: %s", body)
	}
	if _, body := g.page("boss", "/health"); !strings.Contains(body, "no-such-program") {
		t.Errorf("/health of an admin: %s", body)
	}
	for _, path := range []string{"/status", "/api/status"} {
		if _, body := g.page("bound", path); !strings.Contains(body, `"name":"two"`) || strings.Contains(body, `"name":"one"`) || strings.Contains(body, "broken") {
			t.Errorf("%s of a bound key: %s", path, body)
		}
		g.call("ben", "two__echo", `{"message":"x"}`)
		ask(t, "POST", g.url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, g.as("ben")...)
		_, all := g.page("boss", path)
		_, own := g.page("ann", path)
		if !strings.Contains(all, `"key":"key:`) || !strings.Contains(all, "no-such-program") {
			t.Errorf("%s of an admin: %s", path, all)
		}
		if keysIn(own) > 1 || keysIn(all) < 2 || strings.Contains(own, "no-such-program") {
			t.Errorf("%s of a plain key: %s", path, own)
		}
	}
	for key, want := range map[string]int{"ann": 403, "bound": 403, "boss": 200} {
		if status, body := g.page(key, "/metrics"); status != want || want != 200 && strings.Contains(body, "two") {
			t.Errorf("/metrics of %s: %d %.200s", key, status, body)
		}
	}
}

// keysIn counts the principals whose receipts a status page contains.
func keysIn(page string) int {
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(`"key":"(key:\w+)"`).FindAllStringSubmatch(page, -1) {
		seen[found[1]] = true
	}
	return len(seen)
}

func (g *guarded) filtered(t *testing.T) {
	for _, path := range []string{"servers", "overview", "catalog", "clients"} {
		body := g.want(t, 200, "bound", "GET", path, "")
		if strings.Contains(body, `"one"`) || strings.Contains(body, "one__") || strings.Contains(body, "broken") {
			t.Errorf("%s of a bound key: %.1000s", path, body)
		}
	}
	if body := g.want(t, 200, "ann", "GET", "servers", ""); strings.Contains(body, "no-such-program") {
		t.Errorf("servers of a plain key: %s", body)
	}
	g.want(t, 404, "bound", "GET", "servers/default/one", "")
	if body := g.want(t, 200, "ann", "GET", "servers/default/one", ""); strings.Contains(body, g.binary) || strings.Contains(body, g.dir) {
		t.Errorf("a server's page for a plain key: %s", body)
	}
	if body := g.want(t, 200, "boss", "GET", "servers/default/one", ""); !strings.Contains(body, g.binary) {
		t.Errorf("a server's page for an admin: %s", body)
	}
	for _, path := range []string{"logs/one", "logs/*", "doctor", "programs", "settings"} {
		g.want(t, 403, "ann", "GET", path, "")
	}
	own := g.want(t, 200, "ann", "GET", "clients", "")
	var all []struct{ Session string }
	must.Parse(t, g.want(t, 200, "boss", "GET", "clients", ""), &all)
	for _, c := range all {
		status := 404
		if strings.Contains(own, fmt.Sprintf(`"session":%q`, c.Session)) {
			status = 200
		}
		g.want(t, status, "ann", "GET", "catalog?as="+c.Session, "")
	}
	if len(all) < 2 {
		t.Errorf("clients: %+v", all)
	}
	g.want(t, 200, "reader", "GET", "servers", "")
	g.want(t, 403, "reader", "POST", "inbox/1", `{"action":"accept"}`)
}

func (g *guarded) logins(t *testing.T) {
	g.want(t, 403, "ann", "POST", "codes", "")
	var answer struct{ Code string }
	must.Parse(t, g.want(t, 200, "leaver", "POST", "codes", ""), &answer)
	browser := g.login(answer.Code)
	if status, body := browser("GET", "session", ""); status != 200 || !strings.Contains(body, `"leaver"`) || !strings.Contains(body, `"admin"`) {
		t.Errorf("the session: %d %s", status, body)
	}
	if status, body := browser("POST", "bench", `{"target":{"server":"two","via":"gateway"}}`); status != 200 {
		t.Errorf("a bench: %d %s", status, body)
	}
	listed := func() string { return g.want(t, 200, "boss", "GET", "clients", "") }
	before := strings.Count(listed(), `"session":`)
	g.follow(t, "leaver", "servers", func(line string) bool {
		if line == "event: hello" {
			g.command("key", "revoke", "leaver")
		}
		return strings.Contains(line, "event: end")
	})
	g.await("the end of the login", func() bool { status, _ := browser("GET", "session", ""); return status == 401 })
	g.await("the end of its bench", func() bool { return strings.Count(listed(), `"session":`) < before })
	owner := g.owner()
	if status, body := owner("GET", "session", ""); status != 200 || !strings.Contains(body, `"owner"`) {
		t.Errorf("a code from the terminal: %d %s", status, body)
	}
}
