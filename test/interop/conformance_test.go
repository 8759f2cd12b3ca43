package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// A cell is one run of the official suite: a revision against an upstream.
type cell struct {
	revision string
	upstream string // stdio, http-stateful, http-stateless
	protocol string // of the upstream connection, as in the config
	always   bool   // runs always, not only in the full matrix
	// misses are the required scenarios that this pairing cannot pass, with the
	// reason.
	misses map[string]string
}

// Scenarios that are impossible because of the fixture, not the gateway.
const (
	literalKey = "wants the literal key user_name, which a server that asks by itself cannot choose"
	oneRound   = "the fixture asks once only on a legacy connection"
	forbidden  = "the fixture's tool asks by itself, which its SDK forbids without a session"
)

var cells = []cell{
	{revision: "2025-11-25", upstream: "stdio", always: true},
	{revision: "2025-11-25", upstream: "http-stateful"},
	{revision: "2025-11-25", upstream: "http-stateless", misses: map[string]string{
		"tools-call-sampling": forbidden, "tools-call-elicitation": forbidden,
		"elicitation-sep1034-defaults": forbidden, "elicitation-sep1330-enums": forbidden,
	}},
	{revision: "2026-07-28", upstream: "stdio", always: true},
	{revision: "2026-07-28", upstream: "http-stateless"},
	{revision: "2026-07-28", upstream: "stdio", protocol: "legacy", misses: map[string]string{
		"input-required-result-basic-elicitation": literalKey, "input-required-result-multi-round": oneRound,
	}},
	{revision: "2026-07-28", upstream: "http-stateful", misses: map[string]string{
		"input-required-result-basic-elicitation": literalKey, "input-required-result-multi-round": oneRound,
	}},
}

func (c cell) name() string {
	name := c.revision + " " + c.upstream
	if c.protocol != "" {
		name += " " + c.protocol
	}
	return name
}

func TestConformance(t *testing.T) {
	var rows []string
	for _, c := range cells {
		if !c.always && !*matrix {
			continue
		}
		t.Run("fault/T43 "+c.name(), func(t *testing.T) {
			g := mcptest.Gateway(t, config("everything", c.entry(t)))
			verdicts := conformance(t, g.URL+"/s/everything/mcp", c.revision)
			passed := 0
			var failed []string
			for _, name := range required(t, c.revision) {
				why, ran := verdicts[name]
				switch {
				case !ran:
					t.Errorf("%s did not run", name)
				case why == "":
					passed++
				case c.misses[name] != "":
					failed = append(failed, name)
				default:
					failed = append(failed, name)
					t.Errorf("%s: %s", name, why)
				}
			}
			total := len(required(t, c.revision))
			t.Logf("%d of %d required scenarios pass", passed, total)
			rows = append(rows, c.row(passed, total, failed))
		})
	}
	if *update {
		writePage(t, rows)
	}
}

// entry returns the fixture as an upstream of the gateway.
func (c cell) entry(t *testing.T) string {
	protocol := c.protocol
	if protocol == "" {
		protocol = "auto"
	}
	if c.upstream == "stdio" {
		return fmt.Sprintf(`{"command":%q,"protocol":%q,"share":%q}`, everythingServer(t), protocol, c.share())
	}
	address := "127.0.0.1:" + mcptest.FreePort(t)
	mcptest.Start(t, mcptest.Program{
		Path: everythingServer(t),
		Args: []string{"-http", address, fmt.Sprintf("-stateless=%t", c.upstream == "http-stateless")},
	})
	return fmt.Sprintf(`{"type":"http","url":"http://%s/","protocol":%q,"share":%q}`, address, protocol, c.share())
}

// share returns how the fixture is shared. In front of a legacy server on stdio
// every modern caller gets a connection with exactly its own capabilities, so
// that the server's own checks are right; over HTTP that is always so.
func (c cell) share() string {
	if c.upstream == "stdio" && len(c.misses) > 0 && c.revision == "2026-07-28" {
		return "session"
	}
	return "auto"
}

// A check is one entry of the suite's results.
type check struct {
	ID, Status, ErrorMessage string
}

var stamped = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// conformance runs the suite and returns, by scenario, why it failed; "" means
// that one of its checks succeeded and none failed.
func conformance(t *testing.T, url, revision string) map[string]string {
	t.Helper()
	return runSuite(t, url, "--requirements", revision)
}

func runSuite(t *testing.T, url string, args ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	suite := filepath.Join(cache, "npm", "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	cmd := exec.CommandContext(ctx, node(t), append([]string{suite, "server", "--url", url, "--output-dir", dir}, args...)...)
	cmd.Dir = filepath.Join(cache, "npm")
	out, err := cmd.CombinedOutput() // it fails if a scenario fails
	folders, readErr := os.ReadDir(dir)
	if readErr != nil || len(folders) == 0 {
		t.Fatalf("the suite left no results: %v, %v\n%s", err, readErr, out)
	}
	verdicts := map[string]string{}
	for _, f := range folders {
		m := stamped.FindStringSubmatch(f.Name())
		if m == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []check
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatalf("reading the results of %s: %v", m[1], err)
		}
		verdicts[m[1]] = judge(checks)
	}
	return verdicts
}

func judge(checks []check) string {
	own := 0
	for _, c := range checks {
		if c.Status == "FAILURE" {
			return c.ID + ": " + c.ErrorMessage
		}
		if c.Status == "SUCCESS" && c.ID != "wire-schema-valid" {
			own++
		}
	}
	if own == 0 {
		return "no check of its own succeeded"
	}
	return ""
}

// required returns the scenarios that a revision requires of a server.
func required(t *testing.T, revision string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(cache, "npm", "node_modules", "@modelcontextprotocol", "conformance", "requirements", revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") {
			section = name
		}
		if name, ok := strings.CutPrefix(line, "  - "); ok && section == "server" {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if len(names) < 30 {
		t.Fatalf("revision %s requires only %d scenarios: %q", revision, len(names), names)
	}
	slices.Sort(names)
	return names
}
