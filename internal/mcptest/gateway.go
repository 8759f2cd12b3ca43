package mcptest

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteConfig writes a config file to a temporary folder.
func WriteConfig(t testing.TB, config string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatalf("writing the config: %v", err)
	}
	return path
}

// Gateway runs the product over HTTP on a free port, with a config, and waits
// until it listens.
func Gateway(t testing.TB, config string, args ...string) *Process {
	t.Helper()
	p := Start(t, Product(t, append([]string{"http", "--mcp-config", WriteConfig(t, config), "--port", "0"}, args...)...))
	p.Listening()
	return p
}

// GatewayStdio runs the product over stdio, with a config.
func GatewayStdio(t testing.TB, config string, args ...string) *RawStdio {
	t.Helper()
	return StartStdio(t, Product(t, append([]string{"stdio", "--mcp-config", WriteConfig(t, config)}, args...)...))
}

// Product returns the product with its own home directory, so that no test
// reads or writes the user's files.
func Product(t testing.TB, args ...string) Program {
	home := t.TempDir()
	return Program{
		Path: BuildProduct(t), Args: args,
		Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=" + cacheHome()},
	}
}

// cacheHome returns the user's cache folder. Package runners use its downloads
// even though tests set another home.
func cacheHome() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return os.TempDir()
	}
	return dir
}
