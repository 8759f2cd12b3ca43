// Package torture runs the product under faults and checks it against figures.
// The tests are scaled down; TORTURE=full runs them in full size and writes the
// figures to docs/torture.md.
package torture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// long returns the duration of a test: in the fast run or in the full one.
func long(fast, whole time.Duration) time.Duration {
	if figures.Full() {
		return whole
	}
	return fast
}

func TestMain(m *testing.M) { os.Exit(figures.Run(m)) }

// A farm is a config with several hostile servers that record what ran.
type farm struct {
	config   string
	journals []string
}

// hostiles returns a config of n hostile servers s0, s1 ... with extra members
// in each entry.
func hostiles(t *testing.T, n int, extra string) farm {
	t.Helper()
	fake := mcptest.Build(t)
	dir := t.TempDir()
	var f farm
	var entries []string
	for i := range n {
		journal := filepath.Join(dir, fmt.Sprintf("journal-%d", i))
		f.journals = append(f.journals, journal)
		entries = append(entries, fmt.Sprintf(`"s%d":{"command":%q,"args":["-role","hostile","-journal",%q]%s}`, i, fake, journal, extra))
	}
	f.config = fmt.Sprintf(`{"mcpServers":{%s}}`, strings.Join(entries, ","))
	return f
}

// tools returns the names of one tool on all servers.
func (f *farm) tools(tool string) []string {
	var names []string
	for i := range f.journals {
		names = append(names, fmt.Sprintf("s%d__%s", i, tool))
	}
	return names
}

// ran counts what the servers ran, by token.
func (f *farm) ran(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, journal := range f.journals {
		if _, err := os.Stat(journal); err != nil {
			continue
		}
		for token, n := range mcptest.Journal(t, journal) {
			all[token] += n
		}
	}
	return all
}

// A server is one line of /status.
type server struct {
	Name, Status, Error string
	PID                 int
	Restarts            int
}

// servers asks the gateway for the state of its servers.
func servers(t *testing.T, gateway *mcptest.Process) []server {
	t.Helper()
	resp, err := http.Get(gateway.URL + "/status")
	if err != nil {
		t.Fatalf("asking for the status: %v", err)
	}
	defer resp.Body.Close()
	var page struct {
		Schemas map[string]struct{ MCPServers []server }
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatalf("reading the status, %s: %v", resp.Status, err)
	}
	var all []server
	for _, schema := range page.Schemas {
		all = append(all, schema.MCPServers...)
	}
	return all
}

// patience is the time limit of every step on a busy machine.
const patience = 30 * time.Second

// eventually polls done, for events without a notification.
func eventually(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("no %s within %v", what, limit)
		}
	}
}

// ready waits until all servers are connected.
func ready(t *testing.T, gateway *mcptest.Process) {
	t.Helper()
	eventually(t, "connected servers", patience, func() bool {
		for _, s := range servers(t, gateway) {
			if s.Status != "ready" {
				return false
			}
		}
		return true
	})
}

// proc reads a figure of /proc/PID/status in KiB, or plain.
func proc(t *testing.T, pid int, field string) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("reading the process: %v", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatalf("reading %s: %v", field, err)
			}
			return n
		}
	}
	t.Fatalf("no %s of process %d", field, pid)
	return 0
}

// rss returns the resident memory of a process in MiB.
func rss(t *testing.T, pid int) float64 {
	t.Helper()
	return float64(proc(t, pid, "VmRSS")) / 1024
}

// descriptors counts the open files of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatalf("reading the descriptors: %v", err)
	}
	return len(list)
}

// cpu returns the processor time of a process.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatalf("reading the process: %v", err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// healthy fails a test whose gateway panicked or had a data race.
func healthy(t *testing.T, gateway *mcptest.Process) {
	t.Helper()
	for _, bad := range []string{"panic", "DATA RACE", "fatal error"} {
		if strings.Contains(gateway.Stderr(), bad) {
			t.Errorf("the gateway's log has %q", bad)
		}
	}
}

// build compiles the product with extra flags, which may need cgo.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	root, err := mcptest.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp-all-in-one")
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{"."})...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// start runs a binary of the product over HTTP.
func start(t *testing.T, path, config string, env []string, args ...string) *mcptest.Process {
	t.Helper()
	home := t.TempDir()
	p := mcptest.Start(t, mcptest.Program{
		Path: path, Args: append([]string{"http", "--mcp-config", mcptest.WriteConfig(t, config), "--port", "0"}, args...),
		Env: append([]string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME="}, env...),
	})
	p.Listening()
	return p
}
