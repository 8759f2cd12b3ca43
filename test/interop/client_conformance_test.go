package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// clientScenarios are the scenarios of the official suite in which the suite is
// the server and tests the gateway as a client: the requests that it sends
// upstream for the SDK's client.
var clientScenarios = []struct {
	revision string
	names    []string
}{
	{"2026-07-28", []string{
		"tools_call", "request-metadata", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"sep-2322-client-request-state", "json-schema-ref-no-deref", "json-schema-2020-12-preservation",
	}},
	{"2025-11-25", []string{"initialize", "sse-retry", "elicitation-sep1034-client-defaults"}},
}

// sdkClient is the SDK's client of the suite, which uses the gateway.
var sdkClient = sync.OnceValues(func() (string, error) {
	return buildFrom(goSDK, "conformance/everything-client")
})

// driverVariable makes the test program the client that the suite tests.
const driverVariable = "INTEROP_DRIVER"

// drive runs the gateway in front of the suite's server, and the SDK's client
// with that gateway. It returns the exit code of the client.
func drive() int {
	server := os.Args[len(os.Args)-1]
	dir, err := os.MkdirTemp("", "driver")
	if err != nil {
		return 1
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "mcp.json")
	entry := fmt.Sprintf(`{"mcpServers":{"suite":{"type":"http","url":%q,"share":"session","protocol":%q}}}`, server, os.Getenv("INTEROP_PROTOCOL"))
	if err := os.WriteFile(config, []byte(entry), 0o600); err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	gateway := exec.CommandContext(ctx, os.Getenv("INTEROP_GATEWAY"), "http", "--mcp-config", config, "--port", "0")
	gateway.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir)
	gateway.Stderr = os.Stderr
	gateway.Cancel = func() error { return gateway.Process.Signal(os.Interrupt) }
	out, err := gateway.StdoutPipe()
	if err != nil || gateway.Start() != nil {
		return 1
	}
	defer func() {
		gateway.Process.Signal(os.Interrupt)
		gateway.Wait()
	}()
	url := mcptest.FindURL(out)
	client := exec.CommandContext(ctx, os.Getenv("INTEROP_CLIENT"), url+"/s/suite/mcp")
	client.Stdout, client.Stderr = os.Stderr, os.Stderr
	if err := client.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	return meet(ctx, url+"/s/suite/mcp")
}

// meet waits until the gateway is connected to the suite's server, because a
// client that only connects may disconnect before that. The first list waits
// for the connection.
func meet(ctx context.Context, endpoint string) int {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(list))
	if err != nil {
		return 1
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list",
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, "meeting the server:", err)
		return 1
	}
	resp.Body.Close()
	return 0
}

func TestConformanceAsClient(t *testing.T) {
	client, err := sdkClient()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	product := mcptest.BuildProduct(t)
	for _, set := range clientScenarios {
		for _, name := range set.names {
			t.Run("fault/T43 client "+set.revision+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				suite := filepath.Join(cache, "npm", "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
				cmd := exec.CommandContext(ctx, node(t), suite, "client", "--command", self, "--scenario", name,
					"--spec-version", set.revision, "--force", "--output-dir", dir)
				cmd.Dir = filepath.Join(cache, "npm")
				protocol := "auto"
				if mcp.Rules(set.revision).Era == mcp.Modern {
					// With auto the gateway also sends one legacy handshake to
					// a modern server, to learn whether it supports that era.
					// The suite counts that handshake among the modern
					// requests.
					protocol = "modern"
				}
				cmd.Env = append(os.Environ(), driverVariable+"=1", "INTEROP_GATEWAY="+product, "INTEROP_CLIENT="+client, "INTEROP_PROTOCOL="+protocol)
				out, err := cmd.CombinedOutput()
				succeeded, failed := clientChecks(t, dir)
				seen.client = append(seen.client, fmt.Sprintf("| %s | `%s` | %d of %d | %s |\n", set.revision, name, succeeded, succeeded+len(failed), strings.Join(failed, "; ")))
				if succeeded == 0 || len(failed) > 0 {
					t.Errorf("%d checks succeeded, failed: %s (%v)\n%.6000s", succeeded, strings.Join(failed, "; "), err, out)
				}
			})
		}
	}
}

// clientChecks counts the checks of one scenario.
func clientChecks(t *testing.T, dir string) (succeeded int, failed []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite left no results in %s: %v", dir, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				succeeded++
			case "FAILURE", "WARNING": // a recommendation that is not followed counts too
				failed = append(failed, c.ID+": "+c.ErrorMessage)
			}
		}
	}
	return succeeded, failed
}
