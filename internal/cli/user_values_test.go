package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// A valuesWorld is a gateway with keys, and a server that does not start without
// the token of a user.
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
	content := fmt.Sprintf(`{"startWait": "1m", "mcpServers": {"hub": {"command": %q, "args": ["-role", "hostile", "-need", "HUB_TOKEN"],
		"perUser": {"hub-token": {"env": "HUB_TOKEN", "description": "token of the hub"}}}}}`, mcptest.Build(t))
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
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

// secret runs secret with a value on standard input.
func (w *valuesWorld) secret(value string, args ...string) {
	w.t.Helper()
	cmd := exec.Command(mcptest.BuildProduct(w.t), append([]string{"secret"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+w.home, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en")
	cmd.Stdin = strings.NewReader(value + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), value) {
		w.t.Fatalf("%v: %s", err, out)
	}
}

func (w *valuesWorld) do(req *http.Request) (int, string) {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// call calls a tool with a key, outside any session, as a client of 2026-07-28
// that has these capabilities.
func (w *valuesWorld) call(key, capabilities, more string) string {
	w.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hub__env","arguments":{}%s,"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":%s}}}`, more, capabilities)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/mcp", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + w.keys[key]}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"hub__env"}}
	_, answer := w.do(req)
	return answer
}

var tokenInEnv = regexp.MustCompile(`HUB_TOKEN=([a-z0-9-]+)`)

// token is the token of the process that answers a key, or the reason of a
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

// Every key has the value that was set for it, while the gateway runs on.
func TestUserValues(t *testing.T) {
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
	for _, part := range []string{`hub`, "token of the hub", "mcp-all-in-one secret set hub-token --user " + w.ids["ann"]} {
		if !strings.Contains(answer, part) {
			t.Errorf("%q is not in %s", part, answer)
		}
	}
	w.secret("value-of-ann", "set", "hub-token", "--user", w.ids["ann"])
	w.secret("value-of-bob", "set", "hub-token", "--user", w.ids["bob"])
	expect("after it was set", map[string]string{"ann": "value-of-ann", "bob": "value-of-bob", "eve": "value_missing"})
	w.secret("other-of-ann", "set", "hub-token", "--user", w.ids["ann"])
	expect("after it was changed", map[string]string{"ann": "other-of-ann", "bob": "value-of-bob"})
	w.secret("unused", "rm", "hub-token", "--user", w.ids["ann"])
	expect("after it was removed", map[string]string{"ann": "value_missing", "bob": "value-of-bob"})
	w.hidden("value-of-ann", "value-of-bob", "other-of-ann")
}

// hidden looks for values in all that the gateway has written and shows.
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
