package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// keychainScript stores one secret in the keychain and one in the file, and
// uses both. $0 is the product.
const keychainScript = `
printf '\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 || exit 20
echo hunter2 | "$0" secret set chained --keychain || exit 21
echo hunter3 | "$0" secret set filed || exit 22
"$0" secret ls > names || exit 23
grep -q '^chained	keychain$' names && grep -q '^filed$' names || exit 24
"$0" config validate -c mcp.json 2> warnings || exit 25
grep AIO2040 warnings && exit 26
"$0" secret rm chained && "$0" secret rm filed || exit 27
"$0" config validate -c mcp.json 2> warnings
grep -q 'AIO2040.*chained' warnings || exit 28
`

// TestSecretsInKeychain uses a real keychain, in its own session bus. It is
// skipped if there is no keychain; the encrypted file is the default.
func TestSecretsInKeychain(t *testing.T) {
	bus, err := exec.LookPath("dbus-run-session")
	if err != nil {
		t.Log("no dbus-run-session here")
		return
	}
	if _, err := exec.LookPath("gnome-keyring-daemon"); err != nil {
		t.Log("no gnome-keyring-daemon here")
		return
	}
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "mcp.json"), `{"mcpServers":{"a":{"command":"x","env":{"A":"${secret:chained}","B":"${secret:filed}"}}}}`)
	cmd := exec.CommandContext(t.Context(), bus, "--", "sh", "-c", keychainScript, mcptest.BuildProduct(t))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir(), "MCP_AIO_LANG=en")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
