package cli_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestOneKey starts a gateway as a container does: on all addresses, with one
// key from the environment or from a file, and requests its health and status.
func TestOneKey(t *testing.T) {
	t.Parallel()
	binary := mcptest.BuildProduct(t)
	const key = "0123456789abcdef0123456789abcdef"
	for name, value := range map[string]string{"environment": "${MCP_AIO_KEY}", "file": "${file:key.txt}"} {
		t.Run("get/key by "+name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "mcp.json")
			for file, text := range map[string]string{path: `{"server":{"insecure":true},"access":{"key":"` + value + `"},"mcpServers":{}}`, filepath.Join(dir, "key.txt"): key + "\n"} {
				must.Write(t, file, text)
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
				if got, _ := ask(t, http.MethodGet, url+"/status", "", "Authorization", shown); got != want {
					t.Errorf("with %q: %d", shown, got)
				}
			}
			if out, code := run(key, "status", "--running"); code != 0 {
				t.Errorf("of the gateway that runs: %d %s", code, out)
			}
		})
	}
}

// TestFirstKey creates the first key while the gateway runs. From then on the
// gateway requires a key and ends the sessions that have none.
func TestFirstKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := must.Write(t, filepath.Join(dir, "mcp.json"), `{"mcpServers":{}}`)
	gateway := mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", path},
		Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME="}})
	url := gateway.Listening()
	status := func(key string) int {
		t.Helper()
		if key != "" {
			key = "Bearer " + key
		}
		got, _ := ask(t, http.MethodGet, url+"/status", "", "Authorization", key)
		return got
	}
	if got := status(""); got != http.StatusOK {
		t.Fatalf("before there is a key: %d", got)
	}
	old := mcptest.NewRawHTTP(t, url+"/mcp")
	old.Initialize("2025-06-18", `{}`)
	stream := old.Stream(http.MethodGet, "")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for stream.Next() != nil { //nolint:revive // what comes does not matter
		}
	}()

	out, code := product(t, dir, dir, "key", "create", "first", "-c", path)
	key := regexp.MustCompile(`aio_\S+`).FindString(out)
	if code != 0 || key == "" || !strings.Contains(out, "the running gateway asks every client for a key now") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if got := status(""); got != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got)
	}
	if got := status(key); got != http.StatusOK {
		t.Errorf("with the key: %d", got)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("a stream without a key is still open")
		stream.Close()
		<-ended
	}
	for _, command := range []string{"status", "doctor"} {
		if out, code := product(t, dir, dir, command, "-c", path); code != 0 {
			t.Errorf("%s: exit code %d: %s", command, code, out)
		}
	}
	// The file no longer requires keys: that takes effect at the next start.
	must.Write(t, path, `{"mcpServers":{}}`)
	if out, code := product(t, dir, dir, "reload", "-c", path); code != 0 {
		t.Errorf("reload: exit code %d: %s", code, out)
	}
	if got := status(""); got != http.StatusUnauthorized {
		t.Errorf("after the setting is gone: %d", got)
	}
}
