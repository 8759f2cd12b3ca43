package cli_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// TestNextPort checks that mcp-tester takes the next port if its own is in use.
func TestNextPort(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(p.Stderr(), want) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%q is not in %q", want, p.Stderr())
		}
	}
}
