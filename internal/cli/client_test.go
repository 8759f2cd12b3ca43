package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/secrets"
)

// A machine is a home directory with the file of one client.
type machine struct {
	t      *testing.T
	client clients.Client
	file   string
	sample []byte
}

// newMachine copies a sample file: samples are real files of each client, with
// comments and unusual layout.
func newMachine(t *testing.T, id string) *machine {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CODEX_HOME", "APPDATA", config.EnvConfig} {
		t.Setenv(name, "")
	}
	a := &env.Env{Getenv: os.LookupEnv}
	c, err := clients.Find(a, id)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, client: *c, file: c.Paths(home, os.LookupEnv)[0]}
	matches, _ := filepath.Glob(filepath.Join("testdata", "client", id+".*"))
	if len(matches) != 1 {
		t.Fatalf("samples of %s: %v", id, matches)
	}
	if m.sample, err = os.ReadFile(matches[0]); err != nil {
		t.Fatal(err)
	}
	must.OK(t, os.MkdirAll(filepath.Dir(m.file), 0o755))
	m.write(string(m.sample))
	return m
}

// run runs the program and returns its output.
func (m *machine) run(want int, args ...string) (stdout, stderr string) {
	m.t.Helper()
	var out, errs bytes.Buffer
	code := Run(context.Background(), env.Env{Args: append([]string{"mcp-all-in-one"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	if code != want {
		m.t.Fatalf("%v: exit code %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// write replaces the file of the client.
func (m *machine) write(content string) {
	m.t.Helper()
	must.OK(m.t, os.WriteFile(m.file, []byte(content), 0o640))
}

func (m *machine) content() string {
	m.t.Helper()
	return must.Read(m.t, m.file)
}

// servers returns the names of the servers in a file of the client.
func (m *machine) servers(content string) (names []string) {
	m.t.Helper()
	list, err := clients.Parse([]byte(content), &m.client)
	if err != nil {
		m.t.Fatalf("%v in\n%s", err, content)
	}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// comments returns the comments of the sample.
func (m *machine) comments() []string {
	var list []string
	for line := range strings.Lines(string(m.sample)) {
		for _, mark := range []string{" // ", "/* ", "# "} {
			if i := strings.Index(line, mark); i >= 0 && !strings.Contains(line, "://") {
				list = append(list, strings.TrimSpace(line[i:]))
			}
		}
	}
	return list
}

func TestConnect(t *testing.T) {
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			m := newMachine(t, c.ID)
			diff, _ := m.run(0, "connect", c.ID, "--dry-run")
			if m.content() != string(m.sample) {
				t.Fatal("a dry run wrote the file")
			}
			if !strings.Contains(diff, "+++ ") || !strings.Contains(diff, "mcp-all-in-one") {
				t.Errorf("the difference does not show: %s", diff)
			}
			m.run(0, "connect", c.ID)
			for _, comment := range m.comments() {
				if !strings.Contains(m.content(), comment) {
					t.Errorf("comment %q is lost in\n%s", comment, m.content())
				}
			}
			m.hasOwnEntry()
			if info, err := os.Stat(m.file); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v %v", info.Mode(), err)
			}
			_, again := m.run(0, "connect", c.ID)
			if !strings.Contains(again, "already") {
				t.Errorf("connecting again: %s", again)
			}
			m.run(0, "disconnect", c.ID)
			if diff := cmp.Diff(string(m.sample), m.content()); diff != "" {
				t.Errorf("disconnecting does not restore (-want +got):\n%s", diff)
			}
		})
	}
}

// hasOwnEntry checks that our entry is there beside all others.
func (m *machine) hasOwnEntry() {
	m.t.Helper()
	before, after := m.servers(string(m.sample)), m.servers(m.content())
	for _, name := range before {
		if !slices.Contains(after, name) {
			m.t.Errorf("server %s is lost in\n%s", name, m.content())
		}
	}
	if !slices.Contains(after, clients.OwnEntry) || len(after) != len(before)+1 {
		m.t.Errorf("servers are %v in\n%s", after, m.content())
	}
}

// TestDisconnectAfterAChange checks that only our own change is undone in a
// file that was edited since.
func TestDisconnectAfterAChange(t *testing.T) {
	for id, comment := range map[string]string{"cursor": "\n// added later\n", "codex": "\n# added later\n", "goose": "\n# added later\n", "zed": "\n// added later\n"} {
		t.Run(id, func(t *testing.T) {
			m := newMachine(t, id)
			m.run(0, "connect", id, "--move")
			m.write(m.content() + comment)
			m.run(0, "disconnect", id)
			got := m.content()
			if len(m.servers(got)) != len(m.servers(string(m.sample))) || !strings.Contains(got, "added later") || strings.Contains(got, "mcp-all-in-one") {
				t.Errorf("left is\n%s", got)
			}
		})
	}
}

func TestConnectWithoutAFile(t *testing.T) {
	m := newMachine(t, "cursor")
	must.OK(t, os.Remove(m.file))
	m.run(0, "connect", "cursor", "--url", "http://127.0.0.1:3095/mcp")
	must.Contain(t, m.content(), `"url": "http://127.0.0.1:3095/mcp"`)
	m.run(0, "disconnect", "cursor")
	if _, err := os.Stat(m.file); err == nil {
		t.Errorf("a file is left that was not there: %s", m.content())
	}
	m.run(2, "connect", "goose", "--url", "http://127.0.0.1:3095/mcp")
	m.run(2, "connect", "cusor")
	out, _ := m.run(0, "export", "codex")
	if !strings.Contains(out, "[mcp_servers.mcp-all-in-one]\nargs = [\"stdio\"]\ncommand = ") {
		t.Errorf("exported: %s", out)
	}
}

func TestImport(t *testing.T) {
	want := map[string]string{
		"claude-desktop": `{"filesystem":{"args":["-y","@modelcontextprotocol/server-filesystem","/Users/me/Desktop"],"command":"npx"},"github":{"args":["run","-i","--rm","-e","GITHUB_PERSONAL_ACCESS_TOKEN","ghcr.io/github/github-mcp-server"],"command":"docker","env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"ghp_0123456789abcdef"}}}`,
		"claude-code":    `{"db":{"args":["-y","@bytebase/dbhub"],"command":"npx","env":{"DSN":"${DSN:-sqlite://x}"}},"sentry":{"type":"http","url":"https://mcp.sentry.dev/mcp"}}`,
		"cursor":         `{"linear":{"url":"https://mcp.linear.app/sse"},"local":{"args":["${userHome}/server.js"],"command":"node","env":{"API_KEY":"${env:API_KEY}"}}}`,
		"vscode":         `{"fetch":{"args":["mcp-server-fetch"],"command":"uvx"},"perplexity":{"args":["-y","server-perplexity-ask"],"command":"npx","env":{"PERPLEXITY_API_KEY":"${secret:perplexity-key}"}}}`,
		"copilot":        `{"docs":{"allow":["search","read"],"type":"http","url":"https://example.com/mcp"},"playwright":{"args":["@playwright/mcp@latest"],"command":"npx"}}`,
		"windsurf":       `{"figma":{"headers":{"Authorization":"Bearer figd_0123456789"},"url":"https://mcp.figma.com/mcp"},"memory":{"args":["-y","@modelcontextprotocol/server-memory"],"command":"npx","deny":["delete_entities"],"enabled":false}}`,
		"zed":            `{"postgres":{"args":["-y","@zeddotdev/postgres"],"command":"npx","env":{"DATABASE_URL":"postgres://localhost"}},"time":{"args":["mcp-server-time"],"command":"uvx","enabled":false}}`,
		"codex":          `{"docs":{"headers":{"Authorization":"Bearer ${DOCS_TOKEN}"},"timeout":"45s","url":"https://example.com/mcp"},"local":{"allow":["git_log","git_diff"],"args":["mcp-server-git"],"command":"uvx","env":{"LEVEL":"debug"},"inheritEnv":["GIT_SSH"]}}`,
		"gemini":         `{"new":{"allow":["a"],"deny":["b"],"headers":{"X-Api-Key":"${GEMINI_TOOL_KEY}"},"type":"http","url":"https://example.com/mcp"},"old":{"timeout":30000,"type":"sse","url":"http://localhost:8080/sse"}}`,
		"opencode":       `{"everything":{"args":["-y","@modelcontextprotocol/server-everything"],"command":"npx","enabled":true,"env":{"A":"b"}},"jira":{"enabled":false,"url":"https://jira.example.com/mcp"}}`,
		"goose":          `{"fetch":{"args":["mcp-server-fetch"],"command":"uvx","enabled":true,"inheritEnv":["HTTP_PROXY_USER"],"timeout":"300s"}}`,
		"continue":       `{"sqlite":{"args":["mcp-server-sqlite"],"command":"uvx","env":{"A":"b"}}}`,
		"crush":          `{"fs":{"args":["fs.js"],"command":"node"},"gh":{"type":"http","url":"https://api.githubcopilot.com/mcp/"}}`,
	}
	for id, servers := range want {
		t.Run(id, func(t *testing.T) {
			m := newMachine(t, id)
			m.run(0, "import", id)
			out, _ := m.run(0, "export", "json", "--with-secrets")
			var got struct{ MCPServers map[string]map[string]any }
			var expect map[string]map[string]any
			must.Parse(t, out, &got)
			must.Parse(t, servers, &expect)
			if diff := cmp.Diff(expect, got.MCPServers); diff != "" {
				t.Errorf("imported (-want +got):\n%s", diff)
			}
			if m.content() != string(m.sample) {
				t.Error("importing changed the client's file")
			}
			m.run(0, "config", "validate")
			again, _ := m.run(0, "import", id)
			if strings.Contains(again, "\timported") {
				t.Errorf("imported twice: %s", again)
			}
		})
	}
}

func TestImportSaysWhatIsLeft(t *testing.T) {
	m := newMachine(t, "gemini")
	_, notes := m.run(0, "import", "gemini", "--dry-run")
	must.Contain(t, notes, "not taken over: trust")
	if _, err := os.Stat(filepath.Join(os.Getenv("HOME"), ".mcp-all-in-one")); err == nil {
		t.Error("a dry run wrote something")
	}
	list, _ := m.run(0, "import")
	if !strings.HasPrefix(list, "gemini\t2\t2\t0\t0\t") {
		t.Errorf("listed: %s", list)
	}
}

func TestImportStoresSecrets(t *testing.T) {
	m := newMachine(t, "windsurf")
	m.run(0, "import", "windsurf", "--store-secrets")
	out, _ := m.run(0, "export", "json", "--with-secrets")
	if strings.Contains(out, "figd_") || !strings.Contains(out, "Bearer ${secret:figma-authorization}") {
		t.Errorf("exported: %s", out)
	}
	got, err := secrets.NewFileStore(folders.UserDir(os.Getenv("HOME"))).Get("figma-authorization")
	if err != nil || got != "figd_0123456789" {
		t.Errorf("stored: %q %v", got, err)
	}
}

// TestImportScopes imports the servers of a client for one working tree: the
// user's own by default, a file of the tree only on request.
func TestImportScopes(t *testing.T) {
	m := newMachine(t, "claude-code")
	tree := t.TempDir()
	t.Chdir(tree)
	must.OK(t, os.Mkdir(".git", 0o755))
	write := func(name, content string) {
		t.Helper()
		must.Write(t, name, content)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(here)
	write(m.file, `{"projects": {`+string(quoted)+`: {"mcpServers": {"mine": {"command": "local"}, "both": {"command": "near"}}}}, "mcpServers": {"both": {"command": "far"}}}`)
	write(".mcp.json", `{"mcpServers": {"theirs": {"command": "project"}}}`)
	write(".cursor/mcp.json", `{"mcpServers": {"cursor": {"command": "project"}}}`)
	write(".codex/config.toml", "[mcp_servers.codex]\ncommand = \"project\"\n")

	list, _ := m.run(0, "import")
	must.Contain(t, list, "claude-code\t2\t2\t0\t0\tlocal\t", "claude-code\t1\t1\t0\t0\tproject\t", "cursor\t1\t1\t0\t0\tproject\t", "codex\t1\t1\t0\t0\tproject\t")
	m.run(0, "import", "claude-code")
	out, _ := m.run(0, "export", "json", "--with-secrets")
	if !strings.Contains(out, `"mine"`) || !strings.Contains(out, `"near"`) || strings.Contains(out, `"far"`) || strings.Contains(out, `"theirs"`) {
		t.Errorf("imported: %s", out)
	}
	m.run(2, "import", "cursor")
	m.run(0, "import", "claude-code", "cursor", "codex", "--from-project")
	out, _ = m.run(0, "export", "json", "--with-secrets")
	for _, name := range []string{"mine", "theirs", "cursor", "codex"} {
		if !strings.Contains(out, `"`+name+`"`) {
			t.Errorf("no %s in %s", name, out)
		}
	}
}
