package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestKeySight uses keys with different rights. Anything that a key may not see
// is answered and counted as if it did not exist.
func TestKeySight(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	path := filepath.Join(dir, "mcp.json")
	demo := fmt.Sprintf(`{"command": %q, "args": ["demo"]}`, binary)
	loud := fmt.Sprintf(`{"command": "sh", "args": ["-c", "echo the licence ends soon >&2; exec '%s' demo"]}`, binary)
	must.Write(t, path, fmt.Sprintf(`{"startWait": "1m", "mcpServers": {"demo": %s, "other": %s}, "schemas": {"work": {"mcpServers": {"mine": %s}}}}`, demo, loud, demo))
	keys := map[string]string{}
	for name, scope := range map[string]string{"all": "admin", "tool": "tool:demo/echo", "server": "server:other", "schema": "schema:work"} {
		out, code := product(t, dir, dir, "key", "create", name, "--scope", scope, "-c", path)
		if keys[name] = regexp.MustCompile(`aio_\S+`).FindString(out); code != 0 || keys[name] == "" {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	gateway := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path},
		Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME="}})
	url := gateway.Listening()
	ask := func(t *testing.T, key, method, path, body string) (int, string) {
		t.Helper()
		return ask(t, method, url+path, body, "Authorization", "Bearer "+keys[key])
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if _, body := ask(t, "all", "GET", "/status", ""); strings.Contains(body, `"connectedServers":3`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the servers are not connected")
		}
	}
	for key, hidden := range map[string][]string{"server": {"/s/%s/mcp", "/api/default/s/%s/mcp"}, "schema": {"/s/%s/mcp", "/api/default/s/%s/mcp"}, "tool": {"/s/%s/mcp"}} {
		there := map[string]string{"server": "demo", "schema": "demo", "tool": "other"}[key]
		for _, form := range hidden {
			for _, method := range []string{"POST", "GET", "DELETE"} {
				t.Run("door/9 "+method+" "+fmt.Sprintf(form, there)+" by "+key, func(t *testing.T) {
					line := mcptest.InitializeLine("2025-06-18", `{}`)
					status, body := ask(t, key, method, fmt.Sprintf(form, there), line)
					if status != http.StatusNotFound || !strings.Contains(body, fmt.Sprintf("Server '%s' not found or disabled", there)) {
						t.Errorf("%d %s", status, body)
					}
					other, unknown := ask(t, key, method, fmt.Sprintf(form, "nosuch"), line)
					if other != status || strings.ReplaceAll(unknown, "'nosuch'", "'"+there+"'") != body {
						t.Errorf("%d %s\nfor a server that is not there: %d %s", status, body, other, unknown)
					}
				})
			}
		}
	}
	t.Run("door/9 lines that a server wrote", func(t *testing.T) {
		status, body := ask(t, "all", "GET", "/api/v1/logs/other", "")
		if status != http.StatusOK || !strings.Contains(body, `"source":"stderr","text":"the licence ends soon"`) {
			t.Errorf("%d %s", status, body)
		}
		if status, body := ask(t, "tool", "GET", "/api/v1/logs/other", ""); strings.Contains(body, "licence") {
			t.Errorf("a key that does not see the server reads its log: %d %s", status, body)
		}
	})
	t.Run("door/9 counts", func(t *testing.T) {
		var page struct {
			Summary struct {
				TotalTools int `json:"totalTools"`
			} `json:"summary"`
		}
		_, body := ask(t, "tool", "GET", "/status", "")
		if err := json.Unmarshal([]byte(body), &page); err != nil || page.Summary.TotalTools != 1 || !strings.Contains(body, `"toolCount":1`) {
			t.Errorf("status, %v: %s", err, body)
		}
		_, body = ask(t, "tool", "GET", "/api/v1/servers", "")
		must.Contain(t, body, `"tools":1,"resources":0,"prompts":0`)
		_, body = ask(t, "tool", "GET", "/api/v1/servers/default/demo", "")
		must.Contain(t, body, `"tools":1,"resources":0,"prompts":0`)
		if _, body = ask(t, "all", "GET", "/status", ""); strings.Contains(body, `"toolCount":1,`) {
			t.Errorf("status of a key that sees all: %s", body)
		}
	})
}
