package cli_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestNextPort checks that mcp-tester takes the next port if its own is in use.
func TestNextPort(t *testing.T) {
	busy := must.Listen(t)
	defer busy.Close()
	port := busy.Addr().(*net.TCPAddr).Port
	if port > 65000 {
		t.Fatalf("port %d leaves no room above it", port)
	}
	path := mcptest.WriteConfig(t, `{"mcp_servers":[]}`)
	p := mcptest.Start(t, mcptest.Program{
		Path: mcptest.BuildProduct(t), Args: []string{"mcp-tester", "--config", path, "--no-open", "--port", fmt.Sprint(port)},
		Env: []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
	})
	url := p.Listening()
	if strings.HasSuffix(url, fmt.Sprint(":", port)) {
		t.Errorf("listening at %s", url)
	}
	want := fmt.Sprintf("Port %d is occupied, using port %s", port, url[strings.LastIndex(url, ":")+1:])
	must.Await(t, want, func() bool { return strings.Contains(p.Stderr(), want) })
}
