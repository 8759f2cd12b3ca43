package cli_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestOneKey starts a gateway as a container does: on all addresses, with one
// key from the environment or from a file, and asks it how it is.
func TestOneKey(t *testing.T) {
	binary := mcptest.BuildProduct(t)
	const key = "0123456789abcdef0123456789abcdef"
	for name, value := range map[string]string{"environment": "${MCP_AIO_KEY}", "file": "${file:key.txt}"} {
		t.Run("get/key by "+name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "mcp.json")
			for file, text := range map[string]string{path: `{"server":{"insecure":true},"access":{"key":"` + value + `"},"mcpServers":{}}`, filepath.Join(dir, "key.txt"): key + "\n"} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(secret string, args ...string) (string, int) {
				cmd := exec.CommandContext(t.Context(), binary, append(args, "-c", path)...)
				cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_KEY="+secret, "MCP_AIO_LANG=en")
				out, _ := cmd.CombinedOutput()
				return string(out), cmd.ProcessState.ExitCode()
			}
			if out, code := run(key, "status", "--running"); code != 4 || !strings.Contains(out, "no gateway is running") {
				t.Errorf("without a gateway: %d %s", code, out)
			}
			if name == "environment" {
				if out, code := run("short", "http", "-h", "0.0.0.0", "-p", "0"); code == 0 || !strings.Contains(out, "shorter than 20") {
					t.Errorf("with a short key: %d %s", code, out)
				}
			}
			gateway := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-h", "0.0.0.0", "-p", "0", "-c", path},
				Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_KEY=" + key}})
			url := gateway.Listening()
			for shown, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "Bearer " + key: http.StatusOK} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/status", nil)
				if err != nil {
					t.Fatal(err)
				}
				if shown != "" {
					req.Header.Set("Authorization", shown)
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("with %q: %s", shown, resp.Status)
				}
			}
			if out, code := run(key, "status", "--running"); code != 0 {
				t.Errorf("of the gateway that runs: %d %s", code, out)
			}
		})
	}
}
