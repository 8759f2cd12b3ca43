package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestLearnt checks that Learnt proposes at most the folder of a file, and never
// files with keys.
func TestLearnt(t *testing.T) {
	home := must.RealFolder(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	for _, dir := range []string{".ssh", ".config/app", "project/deep", "state", "gateway/data", "keys"} {
		must.Folder(t, home, dir)
	}
	in := func(name string) string { return filepath.Join(home, name) }
	opens := func(what string) Note { return Note{Call: noteOpen, What: what} }
	long := strings.Repeat("a.", 150) + "com:443"
	list := []Note{
		{Call: noteProfile, Profile: &Profile{Read: []string{"/usr", in("own")}, Write: []string{in("own/w")}, Addresses: []string{"127.0.0.1:4000"}}},
		opens("/usr/lib/x.so"), opens(in("own/code.js")), {Call: noteOpen, What: in("own/w/x"), Write: true},
		opens(in("project/a")), opens(in("project/deep/b")), {Call: noteOpen, What: in("project/deep/out"), Write: true},
		opens(in(".gitconfig")), opens(in(".config/app/settings")), opens(in("file")), opens("/etc/odd.conf"), opens("/opt/app/data/x"),
		opens(in(".ssh/id_rsa")), opens(in("state/mcp-all-in-one/servers/other")), {Call: noteOpen, What: home, Folder: true}, {Call: noteOpen, What: "/", Folder: true}, opens("/etc/shadow"),
		{Call: noteConnect, What: "127.0.0.1:4000"}, {Call: noteConnect, What: "127.0.0.1:5432"}, {Call: noteConnect, What: "8.8.8.8:443"},
		{Call: noteHost, What: "api.example.com:443"}, {Call: noteHost, What: "api.example.com:443"}, {Call: noteUnix, What: "/run/x.sock"}, {Call: noteListen},
		{Call: noteHost, What: "*.com:443"}, {Call: noteHost, What: "localhost:22"}, {Call: noteHost, What: "127.0.0.1:22"}, {Call: noteHost, What: "169.254.169.254:80"},
		{Call: noteHost, What: long}, {Call: noteHost, What: "no port"}, {Call: noteConnect, What: "169.254.169.254:80"}, {Call: noteConnect, What: "[::ffff:169.254.169.254]:80"},
		{Call: noteOpen, What: in("gateway/new.tmp"), Write: true}, {Call: noteOpen, What: in("gateway"), Folder: true}, opens(in("gateway/readme")), {Call: noteOpen, What: in("gateway/data/x"), Write: true},
		opens(in("gateway/mcp.json")), opens(in("gateway/mcp.json.pending.json")), opens(in("gateway/mcp.lock")), opens(in("keys/token")), opens(in("keys/other")),
		// only the server itself could have written a second profile
		{Call: noteProfile, Profile: &Profile{Read: []string{"/"}, Write: []string{"/"}}},
	}
	path := filepath.Join(t.TempDir(), "notes")
	var text []byte
	for _, n := range list {
		line := must.JSON(t, n)
		text = append(append(text, line...), '\n')
	}
	must.Write(t, path, append(text, "no JSON\n"...))
	got, err := Learnt(path, in("gateway/mcp.json"), []string{in("keys/token")})
	if err != nil {
		t.Fatal(err)
	}
	want := &Wants{
		Read:   []string{"/etc/odd.conf", "/opt/app/data", in(".config/app"), in(".gitconfig"), in("file"), in("gateway/readme"), in("keys/other"), in("project")},
		Write:  []string{in("gateway/data"), in("project/deep")},
		Hosts:  []string{"127.0.0.1:5432", "api.example.com:443"},
		Listen: true, Unix: []string{"/run/x.sock"}, Direct: []string{"8.8.8.8:443"},
		Others:  []string{"*.com:443", "127.0.0.1:22", "169.254.169.254:80", "[::ffff:169.254.169.254]:80", long, "localhost:22", "no port"},
		Secrets: []string{"/", "/etc/shadow", home, in(".ssh/id_rsa"), in("gateway"), in("gateway/mcp.json"), in("gateway/mcp.json.pending.json"), in("gateway/mcp.lock"), in("gateway/new.tmp"), in("keys/token"), in("state/mcp-all-in-one/servers/other")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Learnt(filepath.Join(t.TempDir(), "none"), "", nil); err == nil {
		t.Error("learnt from nothing")
	}
}

// TestReaches compares hosts in a list with wanted hosts.
func TestReaches(t *testing.T) {
	list := []string{"api.example.com", "*.below.com:8443", "10.0.0.5", "10.0.0.6:5432"}
	for wanted, want := range map[string]bool{
		"api.example.com:443": true, "api.example.com:80": true, "api.example.com:22": false, "a.below.com:8443": true, "a.below.com:443": false,
		"10.0.0.5:443": true, "10.0.0.5:5432": false, "10.0.0.6:5432": true, "10.0.0.7:443": false, "bad host:1": false,
	} {
		if got := Reaches(list, wanted); got != want {
			t.Errorf("%s: %v", wanted, got)
		}
	}
}

// TestSecrets checks that files with keys, and folders that contain them, are named
// and never proposed.
func TestSecrets(t *testing.T) {
	home := must.RealFolder(t)
	t.Setenv("HOME", home)
	keys := filepath.Join(home, "elsewhere", "keys")
	for _, dir := range []string{keys, filepath.Join(home, ".config", "app")} {
		must.Folder(t, dir)
	}
	must.OK(t, os.Symlink(keys, filepath.Join(home, ".aws")))
	k := newKnown(Profile{}, "", nil)
	for _, path := range []string{
		".ssh/id", ".claude.json", ".claude/settings.json", ".cargo/credentials", ".cargo/credentials.toml", ".config/rclone/rclone.conf", ".config/sops/age/keys.txt", ".vault-token",
		".config/gh/hosts.yml", ".netrc", ".npmrc", ".pypirc", ".docker/config.json", ".kube/config", ".aws/credentials", ".azure/token", ".config/gcloud/x", ".gnupg/x", ".password-store/x",
		".local/share/keyrings/login.keyring", ".mozilla/firefox/x", ".config/google-chrome/Default/Cookies", ".config/google-chrome-beta/x", "snap/firefox/x",
		".cursor/mcp.json", ".config/Code/User/mcp.json", ".config/Claude/claude_desktop_config.json", ".codex/auth.json", ".gemini/settings.json",
		"elsewhere/keys/credentials", "elsewhere/keys", "elsewhere", ".config",
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/x", "/etc/ssh/ssh_host_rsa_key", "/proc/1", "/proc/1/environ", "/proc/4000/mem",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		if !k.secret(path) {
			t.Errorf("%s would be proposed", path)
		}
	}
	for _, path := range []string{".config/app", ".config/app/x", ".cargo/registry/x", "project/.env.example", "/proc/net/tcp", "/etc/odd.conf", "/opt/x"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		if k.secret(path) {
			t.Errorf("%s would not be proposed", path)
		}
	}
}
