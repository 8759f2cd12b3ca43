package torture

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestSecrets checks that no secret is in any of our logs, pages, errors or
// files.
func TestSecrets(t *testing.T) {
	t.Run("fault/T33", func(t *testing.T) {
		canaries := map[string]string{}
		canary := func(what string) string {
			canaries[what] = fmt.Sprintf("canary-%s-%d", what, os.Getpid())
			return canaries[what]
		}
		unauthorized := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no", http.StatusUnauthorized)
		}))
		t.Cleanup(unauthorized.Close)
		fake := mcptest.Build(t)
		config := fmt.Sprintf(`{"mcpServers":{
			"a":{"command":%[1]q,"args":["-role","hostile"],"env":{"API_KEY":%[2]q}},
			"b":{"type":"http","url":%[3]q,"headers":{"Authorization":%[4]q,"X-Api-Key":%[5]q}},
			"c":{"type":"http","url":%[6]q,"headers":{"X-Api-Key":%[7]q}},
			"d":{"command":"/nowhere/server","env":{"TOKEN":%[8]q}},
			"e":{"command":%[1]q,"args":["-role","hostile"],"env":{"FROM_ENV":"${TORTURE_SECRET}"}}}}`,
			fake, canary("env"), unauthorized.URL+"/mcp?token="+canary("query"), "Bearer "+canary("bearer"), canary("header"),
			"http://user:"+canary("password")+"@127.0.0.1:1/mcp", canary("header2"), canary("env2"))
		home := t.TempDir()
		p := mcptest.Start(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"http", "--mcp-config", mcptest.WriteConfig(t, config), "--port", "0", "--log-level", "debug"},
			Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TORTURE_SECRET=" + canary("variable")},
		})
		p.Listening()
		c := mcptest.NewRawHTTP(t, p.URL+"/mcp")
		c.Header.Set("Cookie", "session="+canary("cookie"))
		c.Initialize(mcp.LatestLegacy, `{}`)
		var seen strings.Builder
		c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		for _, tool := range []string{"a__crash", "a__never_there", "b__echo", "c__echo", "d__echo", "e__echo"} {
			seen.WriteString(c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, tool)).Body)
		}
		for _, path := range []string{"/", "/health", "/ready", "/status", "/api/status", "/metrics", "/api/v1/servers", "/api/v1/config", "/nothing"} {
			resp, err := http.Get(p.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			seen.Write(body)
		}
		p.Stop()
		seen.WriteString(p.Stderr() + p.Stdout())
		filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, _ := os.ReadFile(path)
				seen.Write(data)
			}
			return nil
		})
		for what, secret := range canaries {
			if at := strings.Index(seen.String(), secret); at >= 0 {
				t.Errorf("the %s shows: %q", what, seen.String()[max(0, at-200):at+len(secret)+20])
			}
		}
		figures.Report(t, "T33", "%d secrets in environment, headers, URLs and variables, at the debug level: in %d bytes of logs, pages, errors and files none of them", len(canaries), seen.Len())
	})
}

// TestEnvironment checks that a server gets the environment it needs, and
// nothing of the gateway's.
func TestEnvironment(t *testing.T) {
	t.Run("fault/T32", func(t *testing.T) {
		var env []string
		for i := range 50 {
			env = append(env, fmt.Sprintf("%s_%d=torture-secret", []string{"MY_API_KEY", "DB_PASSWORD", "GITHUB_TOKEN", "CLIENT_SECRET", "RANDOM_NAME"}[i%5], i))
		}
		gateway := start(t, mcptest.BuildProduct(t), fmt.Sprintf(`{"mcpServers":{"s":{"command":%q,"args":["-role","hostile"],"env":{"OWN":"yes"}}}}`, mcptest.Build(t)), env)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		m := c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__env","arguments":{}}}`).Answer(t)
		if !strings.Contains(m.Raw, "OWN=yes") || !strings.Contains(m.Raw, "PATH=") || strings.Contains(m.Raw, "torture-secret") {
			t.Errorf("the server sees %.2000s", m.Raw)
		}
		figures.Report(t, "T32", "50 variables of the gateway's own: the server sees none of them, its own and PATH")
	})
}

// TestRedirects checks that requests to a server never go to another host.
func TestRedirects(t *testing.T) {
	t.Run("fault/T27", func(t *testing.T) {
		elsewhere := 0
		evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
		t.Cleanup(evil.Close)
		for _, status := range []int{301, 302, 303, 307, 308} {
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, evil.URL+"/mcp", status)
			}))
			t.Cleanup(front.Close)
			gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"s":{"type":"http","url":%q,"headers":{"X-Api-Key":"k"}},"t":{"type":"sse","url":%q}}}`, front.URL+"/mcp", front.URL+"/sse"), "--log-level", "error")
			eventually(t, "attempt", patience, func() bool {
				list := servers(t, gateway)
				return list[0].Status == "failed" && list[1].Status == "failed" && strings.Contains(list[0].Error, "redirect")
			})
		}
		if elsewhere > 0 {
			t.Errorf("%d requests went elsewhere", elsewhere)
		}
	})
}
