package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

type publishedPage struct {
	Servers []struct {
		Server struct {
			Name, Version string
			Remotes       []struct{ Type, URL string }
		}
	}
	Metadata struct {
		NextCursor string
		Count      int
	}
}

func (p *publishedPage) names() string {
	var list []string
	for _, s := range p.Servers {
		list = append(list, s.Server.Name)
	}
	return strings.Join(list, " ")
}

// The gateway is an MCP registry of its own servers: a client of registries
// finds and adds what its key may see.
func TestOwnRegistry(t *testing.T) {
	t.Parallel()
	g := unguarded(t)
	demo := fmt.Sprintf(`{"command":%q,"args":["demo"]}`, g.binary)
	g.write("mcp.json", fmt.Sprintf(`{"access":{"keys":%q},"mcpServers":{"alpha":%s,"beta":%s,"off":{"command":"true","enabled":false}},"schemas":{"work":{"mcpServers":{"gamma":%s}}}}`,
		filepath.Join(g.dir, "keys.json"), demo, demo, demo))
	g.keys["all"] = g.command("key", "create", "all")
	g.keys["bound"] = g.command("key", "create", "bound", "--scope", "server:alpha")
	g.start()
	list := func(t *testing.T, key, query string) (p publishedPage) {
		t.Helper()
		status, text := g.page(key, "/v0.1/servers"+query)
		if status != http.StatusOK || json.Unmarshal([]byte(text), &p) != nil || p.Metadata.Count != len(p.Servers) {
			t.Fatalf("%d %s", status, text)
		}
		return p
	}
	const everything = "local.gateway.default/alpha local.gateway.default/beta local.gateway.work/gamma local.gateway/default local.gateway/work"
	for id, tt := range map[string]struct{ key, query, want string }{
		"list":       {"all", "", everything},
		"latest":     {"all", "?version=latest&limit=100", everything},
		"search":     {"all", "?search=BET", "local.gateway.default/beta"},
		"nothing":    {"all", "?search=nothing", ""},
		"no version": {"all", "?version=77.0.0", ""},
		"since":      {"all", "?updated_since=2999-01-01T00:00:00Z", ""},
		"bound":      {"bound", "", "local.gateway.default/alpha local.gateway/default"},
	} {
		t.Run("registry/"+id, func(t *testing.T) {
			if p := list(t, tt.key, tt.query); p.names() != tt.want {
				t.Errorf("got %q, want %q", p.names(), tt.want)
			}
		})
	}
	t.Run("registry/cursor", func(t *testing.T) {
		var names []string
		for query := "?limit=2"; ; {
			p := list(t, "all", query)
			names = append(names, p.names())
			if p.Metadata.NextCursor == "" || len(names) > 5 {
				break
			}
			query = "?limit=2&cursor=" + url.QueryEscape(p.Metadata.NextCursor)
		}
		if got := strings.Join(names, " "); got != everything || len(names) != 3 {
			t.Errorf("%d pages: %s", len(names), got)
		}
	})
	for path, want := range map[string]int{
		"/v0.1/servers?limit=0":                                       422,
		"/v0.1/servers?limit=x":                                       422,
		"/v0.1/servers?search=ab":                                     422,
		"/v0.1/servers?updated_since=monday":                          400,
		"/v0.1/servers/a%2Fb/versions/latest":                         404,
		"/v0.1/servers/local.gateway.default%2Falpha/versions/latest": 200,
		"/v0.1/servers/local.gateway.default%2Falpha/versions":        200,
		"/v0.1/servers/local.gateway.default%2Falpha/versions/77.0.0": 404,
		"/v0.1/servers/local.gateway.default%2Falpha":                 404,
		"/v0.1/servers/local.gateway.default%2Foff/versions/latest":   404,
		"/v0.1/serversx":                                              404,
	} {
		if status, text := g.page("all", path); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, text, want)
		}
	}
	if status, text := g.page("bound", "/v0.1/servers/local.gateway.default%2Fbeta/versions/latest"); status != 404 {
		t.Errorf("a server that the key does not see: %d %s", status, text)
	}
	if status, _ := g.page("", "/v0.1/servers"); status != 401 {
		t.Errorf("without a key: %d", status)
	}
	if status, _ := ask(t, "POST", g.url+"/v0.1/servers", "{}", g.as("all")...); status != 405 {
		t.Errorf("POST: %d", status)
	}
	t.Run("registry/add", func(t *testing.T) {
		home := t.TempDir()
		file := filepath.Join(home, "mcp.json")
		gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				t.Errorf("%s got a token that is not its own", r.URL)
			}
			http.NotFound(w, r)
		}))
		t.Cleanup(gone.Close)
		moved := httptest.NewServer(http.RedirectHandler(gone.URL, http.StatusTemporaryRedirect))
		t.Cleanup(moved.Close)
		write := func(address string) {
			t.Helper()
			content := fmt.Sprintf(`{"registries":[{"name":"gate","url":%q,"names":["*"]},{"name":"other","url":%q,"names":["local.gateway.default/*"]}],"mcpServers":{}}`, address, gone.URL)
			must.Write(t, file, content)
		}
		input := ""
		run := func(args ...string) (string, int) {
			cmd := exec.CommandContext(t.Context(), g.binary, append(args, "-c", file)...)
			cmd.Stdin = strings.NewReader(input)
			cmd.Env = slices.Concat(os.Environ(), []string{"HOME=" + home, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=" + cmp.Or(os.Getenv("MCP_AIO_LANG"), "en")})
			out, _ := cmd.CombinedOutput() // the exit code is checked
			return string(out), cmd.ProcessState.ExitCode()
		}
		write(g.url)
		const signIn = "sign in: mcp-all-in-one auth login registry:gate"
		if out, code := run("search", "gateway"); code != 4 || !strings.Contains(out, signIn) {
			t.Errorf("exit code %d: %s", code, out)
		}
		if out, code := run("auth", "login", "registry:none"); code != 2 || !strings.Contains(out, "no registry is called none; configured: gate, other") {
			t.Errorf("exit code %d: %s", code, out)
		}
		input = "wrong\n"
		if out, code := run("auth", "login", "registry:gate"); code == 0 || !strings.Contains(out, "the token was not stored: it answered 401 Unauthorized") {
			t.Errorf("exit code %d: %s", code, out)
		}
		input = g.keys["bound"] + "\n"
		if out, code := run("auth", "login", "registry:gate"); code != 0 || strings.Contains(out, g.keys["bound"]) {
			t.Fatalf("exit code %d: %s", code, out)
		}
		write(moved.URL) // the token belongs to the old address, and nothing follows a redirect
		if out, code := run("search", "gateway"); code != 4 || !strings.Contains(out, "307 Temporary Redirect") {
			t.Errorf("exit code %d: %s", code, out)
		}
		write(g.url)
		if out, code := run("search", "gateway"); code != 0 || !strings.Contains(out, "local.gateway.default/alpha\t") || strings.Contains(out, "beta") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if out, code := run("add", "local.gateway.default/beta", "--yes"); code != 1 || !strings.Contains(out, "no registry knows local.gateway.default/beta") {
			t.Errorf("exit code %d: %s", code, out)
		}
		out, code := run("add", "local.gateway.default/alpha", "--yes", "--header", "key: "+g.keys["bound"])
		if code != 0 || !strings.Contains(out, g.url+"/api/default/s/alpha/mcp") {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if out, code := run("call", "alpha", "echo", "message=hello"); code != 0 || !strings.Contains(out, "hello") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if out, code := run("auth", "logout", "registry:gate"); code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
		if out, code := run("search", "gateway"); code != 4 || !strings.Contains(out, signIn) {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}
