package release

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/service"
)

// userManager is a user's systemd in namespaces in which it looks as if the
// machine was booted with systemd.
type userManager struct {
	process *mcptest.Process
	pid     string
	env     []string
}

func startUserManager(t *testing.T, home, runtime string) *userManager {
	t.Helper()
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(home, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	m := &userManager{env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + runtime, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_STATE_HOME=", "DBUS_SESSION_BUS_ADDRESS=", "MCP_AIO_LANG=en"}}
	m.process = mcptest.Start(t, mcptest.Program{Path: "unshare", Args: []string{"--mount", "--propagation", "private", "bash", "-c",
		"mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/system && exec /lib/systemd/systemd --user"},
		Env: append(slices.Clone(m.env), "NOTIFY_SOCKET="+filepath.Join(home, "notify"))})
	if err := ready.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 4096); ; {
		n, err := ready.Read(buf)
		if err != nil {
			t.Fatalf("systemd does not start: %v\n%s", err, m.process.Stderr())
		}
		if strings.Contains(string(buf[:n]), "READY=1") {
			break
		}
	}
	m.pid = strconv.Itoa(m.process.PID())
	return m
}

// run runs a program in those namespaces.
func (m *userManager) run(t *testing.T, args ...string) (string, int) {
	t.Helper()
	return run(t, m.env, "nsenter", append([]string{"--mount", "--target", m.pid}, args...)...)
}

// TestService installs the gateway as a service of a real systemd, kills it,
// and removes it. The gateway starts a server that reports its start, so that
// the test knows when the gateway runs.
func TestService(t *testing.T) {
	home, runtime, binary := t.TempDir(), t.TempDir(), mcptest.BuildProduct(t)
	if err := os.Chmod(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	beacon := filepath.Join(home, "beacon")
	if err := syscall.Mkfifo(beacon, 0o600); err != nil {
		t.Fatal(err)
	}
	ups, err := os.OpenFile(beacon, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer ups.Close()
	lines := bufio.NewReader(ups)
	started := func() {
		t.Helper()
		if err := ups.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("the gateway does not start its server: %v", err)
		}
	}
	config := filepath.Join(home, "a 100% odd $name.json")
	content, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": map[string]any{"command": "sh", "args": []string{"-c", fmt.Sprintf("echo up >%s; exec %s demo", beacon, binary)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, content, 0o600); err != nil {
		t.Fatal(err)
	}
	m := startUserManager(t, home, runtime)
	status := func() (st service.Status) {
		t.Helper()
		out, _ := m.run(t, binary, "service", "status", "--json")
		if err := json.Unmarshal([]byte(out), &st); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return st
	}
	t.Run("get/service nothing is installed", func(t *testing.T) {
		for _, verb := range []string{"status", "uninstall"} {
			if out, code := m.run(t, binary, "service", verb); code != 4 || !strings.Contains(out, "not installed") {
				t.Errorf("%s: %d %s", verb, code, out)
			}
		}
	})
	t.Run("get/service install", func(t *testing.T) {
		out, code := m.run(t, binary, "service", "install", "--config", config, "--", "--port", "0")
		if code != 0 {
			t.Fatalf("%d %s", code, out)
		}
		started()
		if st := status(); !st.Installed || !st.Running || st.PID == 0 {
			t.Errorf("%+v", st)
		}
		if out, code := m.run(t, binary, "status", "--running", "--config", config); code != 0 {
			t.Errorf("the gateway does not answer: %d %s", code, out)
		}
		if out, code := m.run(t, "systemctl", "--user", "is-enabled", name); code != 0 {
			t.Errorf("at login: %s", out)
		}
	})
	t.Run("get/service it is restarted", func(t *testing.T) {
		before := status().PID
		if before <= 1 {
			t.Fatalf("the service has no process: %d", before)
		}
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		started()
		if after := status(); !after.Running || after.PID == before {
			t.Errorf("%+v", after)
		}
	})
	t.Run("get/service a file of others stays", func(t *testing.T) {
		unit := filepath.Join(home, ".config/systemd/user", name+".service")
		ours, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/bin/true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := m.run(t, binary, "service", "install", "--config", config); code != 1 || !strings.Contains(out, "not written by this program") {
			t.Errorf("%d %s", code, out)
		}
		if err := os.WriteFile(unit, ours, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("get/service uninstall", func(t *testing.T) {
		pid := status().PID
		if out, code := m.run(t, binary, "service", "uninstall"); code != 0 {
			t.Fatalf("%d %s", code, out)
		}
		if st := status(); st.Installed || st.Running {
			t.Errorf("%+v", st)
		}
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	})
}
