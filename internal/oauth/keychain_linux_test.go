package oauth

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/secrets"
)

// TestKeychain stores tokens in a real keychain. It runs itself again in its own
// session bus with gnome-keyring on it.
func TestKeychain(t *testing.T) {
	if os.Getenv("OAUTH_TEST_KEYCHAIN") == "1" {
		testKeychain(t)
		return
	}
	bus := needKeyring(t)
	script := `printf '\n' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 && exec "$0" -test.run '^TestKeychain$' -test.v`
	cmd := exec.CommandContext(t.Context(), bus, "--", "sh", "-c", script, os.Args[0])
	cmd.Env = append(os.Environ(), "OAUTH_TEST_KEYCHAIN=1", "HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestKeychain") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// needKeyring returns the program that runs a command on its own session bus.
// Missing programs are installed if the test runs as root.
func needKeyring(t *testing.T) string {
	t.Helper()
	const install = "apt-get install -y --no-install-recommends dbus gnome-keyring"
	find := func() (bus string, err error) {
		if _, err = exec.LookPath("gnome-keyring-daemon"); err == nil {
			bus, err = exec.LookPath("dbus-run-session")
		}
		return bus, err
	}
	bus, err := find()
	if err != nil && os.Geteuid() == 0 {
		if out, failed := exec.CommandContext(t.Context(), "sh", "-c", "apt-get update -qq; "+install).CombinedOutput(); failed != nil {
			t.Logf("%s: %v\n%s", install, failed, out)
		}
		bus, err = find()
	}
	if err != nil {
		t.Fatalf("%v: install it with\n\t%s", err, install)
	}
	return bus
}

func testKeychain(t *testing.T) {
	_, rs := newHub(t)
	dir := t.TempDir()
	open := func() *Keeper {
		k := NewKeeper(t.Context(), Options{Dir: dir, Store: secrets.NewKeyring("mcp-all-in-one tokens test")})
		t.Cleanup(k.Close)
		return k
	}
	s := rs.entry(nil)
	signIn(t, open(), s)
	mustPost(t, open(), s)
	if _, err := os.Stat(dir + "/secrets.enc"); err == nil {
		t.Error("the tokens are in a file too")
	}
	must.OK(t, open().Logout(t.Context(), s, ""))
	if n := len(open().Statuses(s)); n != 0 {
		t.Errorf("%d grants after the logout", n)
	}
}
