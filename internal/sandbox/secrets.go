package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/lazy"
)

// secretsAtHome are files and folders in the home directory with keys, or with
// settings that make another program run commands. A path that ends with * stands
// for all that begin with it.
var secretsAtHome = []string{
	// keys
	".ssh", ".gnupg", ".password-store", ".netrc", ".pgpass", ".my.cnf", ".git-credentials", ".config/git/credentials", ".vault-token", ".config/sops", ".config/age",
	".local/share/keyrings", ".local/share/kwalletd", ".config/kwalletrc", ".config/op", ".config/Bitwarden*", ".config/keepassxc", ".pki",
	// package managers
	".npmrc", ".yarnrc*", ".pypirc", ".config/pip", ".cargo/credentials*", ".gem/credentials", ".m2/settings*", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json", ".terraform.d", ".terraformrc",
	// clouds
	".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers/auth.json", ".config/gh", ".config/glab-cli", ".config/hub", ".config/rclone", ".config/doctl", ".config/heroku", ".oci", ".s3cfg", ".boto",
	// browsers and mail
	".mozilla", ".thunderbird", ".librewolf", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*", ".config/vivaldi*", ".config/opera*", "snap", ".var/app",
	// shells
	".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history", ".local/share/fish/fish_history",
	// clients of MCP
	".claude*", ".config/claude", ".config/Claude", ".cursor", ".config/Cursor", ".config/Code*", ".vscode", ".copilot", ".config/github-copilot", ".codeium", ".config/zed", ".codex", ".gemini", ".config/opencode",
	".local/share/opencode", "Documents/Cline", ".lmstudio", ".cache/lm-studio", ".kiro", ".config/goose", ".continue", ".config/crush",
}

// secretsOfSystem are files and folders of the machine with keys.
var secretsOfSystem = []string{
	"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers*", "/etc/ssh", "/etc/letsencrypt", "/etc/kubernetes", "/etc/krb5.keytab", "/root/.ssh", "/run/secrets", "/var/run/secrets",
}

// otherProcess is the folder of a process in /proc. Files of the server's own process
// are not noted.
var otherProcess = lazy.Regexp(`^/proc/[0-9]+(/|$)`)

// secretPaths returns the paths that are never proposed. Notes have real paths, so
// each path is there as it is written and as it really is.
func secretPaths(home string) []string {
	list := slices.Clone(secretsOfSystem)
	if home != "" {
		for _, name := range secretsAtHome {
			list = append(list, filepath.Join(home, name))
		}
	}
	for _, path := range []string{folders.UserDir(folders.Home()), folders.StateDir(), folders.Places{Home: folders.Home()}.Config(), folders.Places{}.System()} {
		if path != "" {
			list = append(list, path)
		}
	}
	return withReal(list)
}

func withReal(list []string) []string {
	for _, path := range list {
		if real := realPath(path); real != path {
			list = append(list, real)
		}
	}
	return list
}

// isSecret reports whether a path is one of the list, or inside one.
func isSecret(list []string, path string) bool {
	return otherProcess().MatchString(path) || slices.ContainsFunc(list, func(s string) bool {
		if begin, ok := strings.CutSuffix(s, "*"); ok {
			return strings.HasPrefix(path, begin)
		}
		return within(path, s)
	})
}
