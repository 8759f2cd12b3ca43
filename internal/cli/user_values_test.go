package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A valuesWorld is a gateway with keys, and a server that does not start without
// the token of a user. Results of its tool may be cached, but never across
// different values.
type valuesWorld struct {
	t       *testing.T
	home    string
	url     string
	gateway *mcptest.Process
	keys    map[string]string // by name
	ids     map[string]string
}

func newValuesWorld(t *testing.T) *valuesWorld {
	t.Helper()
	w := &valuesWorld{t: t, home: t.TempDir(), keys: map[string]string{}, ids: map[string]string{}}
	path := filepath.Join(w.home, "mcp.json")
	entry := fmt.Sprintf(`{"command": %q, "args": ["-role", "hostile", "-need", "HUB_TOKEN"],
		"perUser": {"hub-token": {"env": "HUB_TOKEN", "description": "token of the hub"}}, "tools": {"env": {"cache": "10m"}}}`, mcptest.Build(t))
	content := `{"startWait": "1m", "mcpServers": {"hub": ` + entry + `}, "schemas": {"small": {"mode": "search", "code": true, "mcpServers": {"hub": ` + entry + `}}}}`
	must.Write(t, path, content)
	for _, name := range []string{"ann", "bob", "eve"} {
		out, code := product(t, w.home, w.home, "key", "create", name, "--json", "-c", path)
		var key struct{ Key, ID string }
		if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &key); code != 0 || err != nil {
			t.Fatalf("exit code %d: %s", code, out)
		}
		w.keys[name], w.ids[name] = key.Key, "key:"+key.ID
	}
	p := mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", path, "--log-level", "debug"},
		Env: []string{"HOME=" + w.home, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME="}}
	w.gateway = mcptest.Start(t, p)
	w.url = w.gateway.Listening()
	return w
}

// secret runs the secret command with a value on stdin.
func (w *valuesWorld) secret(value string, args ...string) {
	w.t.Helper()
	cmd := exec.Command(mcptest.BuildProduct(w.t), append([]string{"secret"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en")
	cmd.Stdin = strings.NewReader(value + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), value) {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// ask calls a tool with a key, without a session, as a client of 2026-07-28 with
// these capabilities.
func (w *valuesWorld) ask(key, path, tool, arguments, capabilities, more string) string {
	w.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s,"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":%s}}}`, tool, arguments, more, capabilities)
	_, answer := ask(w.t, http.MethodPost, w.url+path, body, "Authorization", "Bearer "+w.keys[key],
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
	return answer
}

func (w *valuesWorld) call(key, capabilities, more string) string {
	w.t.Helper()
	return w.ask(key, "/mcp", "hub__env", "{}", capabilities, more)
}

var tokenInEnv = regexp.MustCompile(`HUB_TOKEN=([a-z0-9-]+)`)

// token returns the token of the process that answers a key, or the reason of a
// refusal.
func (w *valuesWorld) token(key string) string {
	w.t.Helper()
	answer := w.call(key, `{}`, "")
	if m := tokenInEnv.FindStringSubmatch(answer); m != nil {
		return m[1]
	}
	if strings.Contains(answer, `"reason":"value_missing"`) {
		return "value_missing"
	}
	return answer
}

// Every key gets the value that was set for it, while the gateway runs.
func TestUserValues(t *testing.T) {
	t.Parallel()
	w := newValuesWorld(t)
	expect := func(when string, want map[string]string) {
		t.Helper()
		for key, token := range want {
			if got := w.token(key); got != token {
				t.Errorf("%s, %s has %s, want %s", when, key, got, token)
			}
		}
	}
	expect("before", map[string]string{"ann": "value_missing", "bob": "value_missing"})
	answer := w.call("ann", `{}`, "")
	must.Contain(t, answer, `hub`, "token of the hub", "mcp-all-in-one secret set hub-token --user "+w.ids["ann"])
	for path, want := range map[string]string{"/health": `"status":"ok"`, "/api/v1/servers": `"state":"idle"`} {
		must.Await(t, path+" with "+want, func() bool {
			_, body := ask(t, http.MethodGet, w.url+path, "", "Authorization", "Bearer "+w.keys["ann"])
			return strings.Contains(body, want)
		})
	}
	w.secret("value-of-ann", "set", "hub-token", "--user", w.ids["ann"])
	w.secret("value-of-bob", "set", "hub-token", "--user", w.ids["bob"])
	expect("after it was set", map[string]string{"ann": "value-of-ann", "bob": "value-of-bob", "eve": "value_missing"})
	w.secret("other-of-ann", "set", "hub-token", "--user", w.ids["ann"])
	expect("after it was changed", map[string]string{"ann": "other-of-ann", "bob": "value-of-bob"})
	w.token("ann") // which caches it
	w.secret("third-of-ann", "set", "hub-token", "--user", w.ids["ann"])
	expect("after it was changed again", map[string]string{"ann": "third-of-ann"})
	w.token("ann")
	w.secret("unused", "rm", "hub-token", "--user", w.ids["ann"])
	expect("after it was removed", map[string]string{"ann": "value_missing", "bob": "value-of-bob"})
	// The user at the terminal is a user, too.
	call := func() string {
		out, _ := product(t, w.home, w.home, "call", "hub", "env", "-c", filepath.Join(w.home, "mcp.json"))
		return out
	}
	must.Contain(t, call(), "secret set hub-token --user local")
	w.secret("value-of-local", "set", "hub-token", "--user", "local")
	must.Contain(t, call(), "HUB_TOKEN=value-of-local")
	if out, code := product(t, w.home, w.home, "key", "revoke", "bob", "-c", filepath.Join(w.home, "mcp.json")); code != 0 {
		t.Errorf("key revoke: %s", out)
	}
	for user, want := range map[string]bool{w.ids["bob"]: false, "local": true} {
		if out, _ := product(t, w.home, w.home, "secret", "ls", "--user", user); strings.Contains(out, "hub-token") != want {
			t.Errorf("after the key of bob was revoked, %s has %s", user, out)
		}
	}
	w.hidden("value-of-ann", "value-of-bob", "other-of-ann")
}

// A client that can open a URL is led to a page where the user enters the
// value. Then the call runs.
func TestUserValuesPage(t *testing.T) {
	t.Parallel()
	w := newValuesWorld(t)
	link := regexp.MustCompile(`"url":"(http://[^"]+/ui/value/[^"]+)"`)
	const able = `{"elicitation":{"url":{}}}`
	answer := w.call("ann", able, "")
	m := link.FindStringSubmatch(answer)
	if m == nil || !strings.Contains(answer, `"resultType":"input_required"`) || !strings.Contains(answer, "token of the hub") {
		t.Fatalf("answer %s", answer)
	}
	// accepted returns the part of the next request that a client sends after
	// the visit.
	accepted := func(answer string) string {
		t.Helper()
		state := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(answer)
		question := regexp.MustCompile(`"inputRequests":\{"([^"]+)"`).FindStringSubmatch(answer)
		if state == nil || question == nil {
			t.Fatalf("answer %s", answer)
		}
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept"}}`, state[1], question[1])
	}
	visit := func(method, url, value string) (int, string) {
		t.Helper()
		return ask(t, method, url, "value="+value, "Content-Type", "application/x-www-form-urlencoded", "Origin", w.url)
	}
	if status, body := visit(http.MethodGet, m[1], ""); status != http.StatusOK || !strings.Contains(body, "calls of ann alone") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := visit(http.MethodPost, m[1], "page-of-ann"); status != http.StatusOK || strings.Contains(body, "page-of-ann") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := visit(http.MethodPost, m[1], "page-of-eve"); status != http.StatusNotFound {
		t.Errorf("the link works again: %d", status)
	}
	again := w.call("ann", able, accepted(answer))
	if m := tokenInEnv.FindStringSubmatch(again); m == nil || m[1] != "page-of-ann" {
		t.Errorf("the call again: %s", again)
	}
	if got := w.token("bob"); got != "value_missing" {
		t.Errorf("another key has %s", got)
	}
	if answer := w.call("bob", `{"elicitation":{}}`, ""); link.MatchString(answer) || !strings.Contains(answer, "a client with URL elicitation") {
		t.Errorf("a client that opens no URL: %s", answer)
	}
	w.hidden("page-of-ann")

	// The same holds through exec and run.
	for tool, arguments := range map[string]string{"exec": `{"server_name":"hub","tool_name":"env","arguments":{}}`, "run": `{"code":"return await tools.hub.env({})"}`} {
		answer := w.ask("bob", "/api/small/mcp", tool, arguments, able, "")
		if !link.MatchString(answer) || !strings.Contains(answer, `"resultType":"input_required"`) {
			t.Fatalf("%s: %s", tool, answer)
		}
		if tool != "run" {
			continue
		}
		// A script continues while the user decides; its model does not learn
		// the link.
		told := w.ask("bob", "/api/small/mcp", tool, arguments, able, accepted(answer))
		if !strings.Contains(told, "call again once that is done") || strings.Contains(told, "/ui/value/") {
			t.Errorf("run: %s", told)
		}
	}

	// A client of 2025-11-25 gets the error that asks for the visit.
	session := ""
	legacy := func(body string) string {
		t.Helper()
		resp, answer := must.Answer(t, http.DefaultClient, must.Request(t, http.MethodPost, w.url+"/mcp", body, "Authorization", "Bearer "+w.keys["eve"],
			"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Session-Id", session))
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		return answer
	}
	legacy(mcptest.InitializeLine("2025-11-25", able))
	legacy(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	const request = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hub__env","arguments":{}}}`
	asked := legacy(request)
	m = link.FindStringSubmatch(asked)
	if m == nil || !strings.Contains(asked, `"code":-32042`) {
		t.Fatalf("answer %s", asked)
	}
	if status, body := visit(http.MethodPost, m[1], "page-of-eve"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	if m := tokenInEnv.FindStringSubmatch(legacy(request)); m == nil || m[1] != "page-of-eve" {
		t.Errorf("the call again has %s", m)
	}
}

// A user whose value the server refuses is asked for another one, which replaces
// only the refused value.
func TestUserValueRefused(t *testing.T) {
	t.Parallel()
	inner := &upstreamServer{}
	hub := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.serve(rw, r)
	}))
	t.Cleanup(hub.Close)
	w := &valuesWorld{t: t, home: t.TempDir()}
	path := filepath.Join(w.home, "mcp.json")
	content := fmt.Sprintf(`{"mcpServers": {"hub": {"url": %q, "type": "http", "protocol": "legacy", "perUser": {"hub-token": {"header": "Authorization", "prefix": "Bearer "}}}}}`, hub.URL)
	must.Write(t, path, content)
	w.gateway = mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", path},
		Env: []string{"HOME=" + w.home, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME="}})
	w.url = w.gateway.Listening()
	client := mcptest.NewRawHTTP(t, w.url+"/mcp")
	client.Initialize("2025-11-25", `{"elicitation":{"url":{}}}`)
	call := func() string {
		t.Helper()
		reply, err := client.Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hub__good","arguments":{}}}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply.Body)
	}
	page := func(answer string) string {
		t.Helper()
		m := regexp.MustCompile(`"url":"(http://[^"]+/ui/value/[^"]+)"`).FindStringSubmatch(answer)
		if m == nil {
			t.Fatalf("no page: %s", answer)
		}
		return m[1]
	}
	enter := func(page, value string) (int, string) {
		t.Helper()
		return ask(t, http.MethodPost, page, "value="+value, "Content-Type", "application/x-www-form-urlencoded", "Origin", w.url)
	}
	if status, body := enter(page(call()), "bad"); status != http.StatusOK {
		t.Fatalf("the first value: %d %s", status, body)
	}
	answer := call()
	must.Contain(t, answer, "refused the value that you set")
	if _, body := ask(t, http.MethodGet, page(answer), ""); !strings.Contains(body, "hub refused the value that is stored now") {
		t.Errorf("the page: %s", body)
	}
	w.secret("other", "set", "hub-token", "--user", "anonymous")
	if status, _ := enter(page(answer), "good"); status != http.StatusNotFound {
		t.Errorf("a value that was not refused was replaced: %d", status)
	}
	if status, body := enter(page(call()), "good"); status != http.StatusOK {
		t.Errorf("another value: %d %s", status, body)
	}
	if answer := call(); !strings.Contains(answer, `"ok"`) {
		t.Errorf("with the right value: %s", answer)
	}
}

// hidden checks that values appear nowhere in what the gateway has written and
// shows.
func (w *valuesWorld) hidden(values ...string) {
	w.t.Helper()
	out, _ := product(w.t, w.home, w.home, "status", "-c", filepath.Join(w.home, "mcp.json"), "--json")
	found := map[string]string{"status": out, "log": w.gateway.Stderr()}
	err := filepath.WalkDir(w.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for where, text := range found {
		for _, value := range values {
			if strings.Contains(text, value) {
				w.t.Errorf("%s has %q", where, value)
			}
		}
	}
}
