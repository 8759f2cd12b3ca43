package cluster

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestOff checks that a gateway outside a cluster starts no part of it, and
// that the linked client of the engine does not slow its start.
func TestOff(t *testing.T) {
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q}},"metrics":{"enabled":true}}`, mcptest.Build(t)))
	t.Run("fault/T55/ids", func(t *testing.T) {
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(legacy, `{}`)
		if id := c.Header.Get("Mcp-Session-Id"); !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
			t.Errorf("the id of a session is %q", id)
		}
	})
	t.Run("fault/T55/ports", func(t *testing.T) {
		if n := listening(t, gateway.PID()); n != 1 {
			t.Errorf("%d ports are open", n)
		}
	})
	t.Run("fault/T55/metrics", func(t *testing.T) {
		resp, err := http.Get(gateway.URL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), "mcp_gateway_cluster_") {
				t.Errorf("figures of a cluster: %s", lines.Text())
			}
		}
	})
	t.Run("fault/T55/start", func(t *testing.T) {
		cmd := exec.Command(mcptest.BuildProduct(t), "--version")
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		trace, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, trace)
		}
		sum := 0
		for _, m := range regexp.MustCompile(`init (\S*nats-io\S*) .* (\d+) bytes`).FindAllStringSubmatch(string(trace), -1) {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if !strings.Contains(string(trace), "init ") || sum > 64<<10 {
			t.Errorf("the client of the engine takes %d bytes at the start", sum)
		}
		figures.Report(t, "T55", "session ids, ports and metrics as without a cluster; the client of the engine takes %d bytes at the start", sum)
	})
}

// listening counts the TCP ports on which a process listens.
func listening(t *testing.T, pid int) (n int) {
	t.Helper()
	mine := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(fd) // a file that was closed in the meantime does not listen
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			mine[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && mine[f[9]] {
				n++
			}
		}
	}
	return n
}
