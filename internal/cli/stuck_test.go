//go:build linux

package cli_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestStuckClient requests more than a pipe holds and reads nothing. The
// gateway must still end when it is told to.
func TestStuckClient(t *testing.T) {
	t.Parallel()
	t.Run("fault/F11", func(t *testing.T) {
		product := mcptest.BuildProduct(t)
		config := mcptest.WriteConfig(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, product))
		cmd := exec.CommandContext(t.Context(), product, "stdio", "--silent", "--mcp-config", config)
		cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		must.OK(t, cmd.Start())
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"stuck","version":"1"}}}`)
		if _, err := bufio.NewReaderSize(out, 1<<10).Peek(1); err != nil {
			t.Fatal(err)
		}
		for id := range 50 {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"%s"}}}`+"\n", id+1, strings.Repeat("x", 20<<10))
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		must.OK(t, cmd.Process.Signal(syscall.SIGTERM))
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			cmd.Process.Kill()
			t.Error("it did not end")
		}
	})
}
