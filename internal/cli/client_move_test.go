package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/mcptest/must"
)

// moving returns a machine with a client that has two servers, one with a
// secret, and the config file of a gateway.
func moving(t *testing.T, ours string) (m *machine, gateway string) {
	t.Helper()
	m = newMachine(t, "cursor")
	gateway = filepath.Join(t.TempDir(), "mcp.json")
	m.sample = []byte(`{"mcpServers": {"files": {"command": "fs", "args": ["/tmp"]},` + "\n" +
		`"api": {"command": "api", "env": {"API_TOKEN": "sk-0123456789", "PORT": 8080}}}}` + "\n")
	for path, text := range map[string]string{m.file: string(m.sample), gateway: ours} {
		must.Write(t, path, text)
	}
	t.Setenv("MCP_AIO_LANG", "en")
	return m, gateway
}

// TestMoveKeepsAnotherOfThisName checks that a server stays with the client,
// with a note, if the gateway has another server of the same name.
func TestMoveKeepsAnotherOfThisName(t *testing.T) {
	m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}}}`)
	for _, test := range []struct{ flag, word string }{{"--dry-run", "would move: api\n"}, {"--dry-run=false", "\nmoved: api\n"}} {
		out, errs := m.run(0, "-c", gateway, "connect", "cursor", "--move", test.flag)
		must.Contain(t, "\n"+errs, "not moved: files: another server is called files: --rename files=NEW", test.word, "1 secret in plain text; --store-secrets")
		must.Contain(t, out, `"API_TOKEN": "***"`)
		if strings.Contains(out+errs, "sk-0123456789") {
			t.Errorf("a secret shows:\n%s%s", out, errs)
		}
	}
	must.Contain(t, m.content(), `"/tmp"`, clients.OwnEntry)
	must.Contain(t, must.Read(t, gateway), `"/srv"`, `"api"`)
}

func TestMoveStoresSecrets(t *testing.T) {
	m, gateway := moving(t, `{"mcpServers": {}}`)
	m.run(0, "-c", gateway, "connect", "cursor", "--move", "--store-secrets")
	text := must.Read(t, gateway)
	must.Contain(t, text, "${secret:api-api_token}")
	if strings.Contains(text, "sk-0123456789") {
		t.Errorf("the secret is in the file: %s", text)
	}
}

// TestDisconnectReturnsServers checks that moved servers are removed from the
// gateway's file again, except those that existed before or were changed since.
func TestDisconnectReturnsServers(t *testing.T) {
	const own = `{"mcpServers": {"own": {"command": "own"}, "files": {"command": "fs", "args": ["/tmp"]}}}`
	for name, test := range map[string]struct{ edit, left string }{
		"unchanged": {"", ""},
		"changed":   {`"PORT": 9090`, `"api"`},
	} {
		t.Run(name, func(t *testing.T) {
			m, gateway := moving(t, own)
			m.run(0, "-c", gateway, "connect", "cursor", "--move")
			text := must.Read(t, gateway)
			must.Contain(t, text, `"api"`)
			if test.edit != "" {
				text = strings.Replace(text, `"PORT": 8080`, test.edit, 1)
				must.Contain(t, text, test.edit)
				must.Write(t, gateway, text)
			}
			_, errs := m.run(0, "-c", gateway, "disconnect", "cursor", "--dry-run")
			if got := must.Read(t, gateway); got != text {
				t.Errorf("a dry run wrote %s", got)
			}
			m.run(0, "-c", gateway, "disconnect", "cursor")
			if m.content() != string(m.sample) {
				t.Errorf("the client has %s", m.content())
			}
			got := must.Read(t, gateway)
			must.Contain(t, got, `"own"`, `"files"`, test.left)
			if test.left == "" {
				must.Contain(t, errs, "taken out of the gateway: api")
				if strings.Contains(got, `"api"`) {
					t.Errorf("left is %s", got)
				}
			} else {
				must.Contain(t, errs, "api: changed since")
			}
		})
	}
}

// TestDisconnectLeavesWhatOthersUse checks that a server that two clients moved
// stays.
func TestDisconnectLeavesWhatOthersUse(t *testing.T) {
	m, gateway := moving(t, `{"mcpServers": {}}`)
	home := os.Getenv("HOME")
	must.Write(t, filepath.Join(home, ".kiro", "settings", "mcp.json"), m.sample)
	m.run(0, "-c", gateway, "connect", "cursor", "--move")
	m.run(0, "-c", gateway, "connect", "kiro", "--move")
	_, errs := m.run(0, "-c", gateway, "disconnect", "cursor")
	must.Contain(t, errs, "files: kiro uses it through the gateway")
	must.Contain(t, must.Read(t, gateway), `"files"`, `"api"`)
}

// TestConnectAgainAfterHandEdits checks that both connections are undone if the
// client's file was changed between them.
func TestConnectAgainAfterHandEdits(t *testing.T) {
	m, gateway := moving(t, `{"mcpServers": {}}`)
	m.run(0, "-c", gateway, "connect", "cursor", "--move")
	edited := strings.Replace(m.content(), `"mcpServers": {`, `"theme": "dark", "mcpServers": {"mine": {"command": "later"},`, 1)
	must.Contain(t, edited, `"mine"`, `"theme"`)
	must.Write(t, m.file, edited)
	m.run(0, "-c", gateway, "connect", "cursor", "--move")
	if text := m.content(); strings.Contains(text, `"mine"`) {
		t.Errorf("it was not moved: %s", text)
	}
	_, errs := m.run(0, "-c", gateway, "disconnect", "cursor")
	must.Contain(t, errs, "taken out of the gateway: api", "taken out of the gateway: files", "taken out of the gateway: mine")
	text := m.content()
	must.Contain(t, text, `"theme": "dark"`, `"mine"`, `"files"`, `"api"`, `"sk-0123456789"`)
	if strings.Contains(text, clients.OwnEntry) {
		t.Errorf("it is still connected: %s", text)
	}
	if got := must.Read(t, gateway); strings.Contains(got, "command") {
		t.Errorf("the gateway keeps %s", got)
	}
}

// TestConnectAgainElsewhere checks the undo of a second connection that only
// changed the entry, after a manual edit.
func TestConnectAgainElsewhere(t *testing.T) {
	m, gateway := moving(t, `{"mcpServers": {}}`)
	m.run(0, "-c", gateway, "connect", "cursor")
	must.Write(t, m.file, strings.Replace(m.content(), `"/tmp"`, `"/srv"`, 1))
	m.run(0, "-c", gateway, "connect", "cursor", "--url", "http://127.0.0.1:3095/mcp")
	must.Contain(t, m.content(), "3095")
	m.run(0, "-c", gateway, "disconnect", "cursor")
	must.Contain(t, m.content(), `"/srv"`, `"api"`)
	if strings.Contains(m.content(), clients.OwnEntry) {
		t.Errorf("it is still connected: %s", m.content())
	}
}
