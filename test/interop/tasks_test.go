package interop

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A taskReport is what an official client saw of tasks.
type taskReport struct {
	Error        string
	Capabilities json.RawMessage
	Support      map[string]string
	Listed       []string
	Plain        string
	Tasks        map[string]*struct {
		Statuses, Messages, Progress []string
		ID, Question, Text, Again    string
		Kind, Status, Cancelled      string
		Error                        string
		Related                      bool
		Retention                    *int
	}
}

// runTasks runs one of the scripts that follow tasks.
func runTasks(t *testing.T, name string, args ...string) *taskReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(t), append([]string{script(t, name)}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stderr = &logWriter{t}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	t.Logf("the client saw %s", out)
	var r taskReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("reading the client's report: %v\n%s", err, out)
	}
	if r.Error != "" {
		t.Fatalf("the client failed: %s", r.Error)
	}
	return &r
}

// legacyTasks is a server of the official SDK with tasks of 2025-11-25,
// modernTasks one of FastMCP with those of the extension.
func legacyTasks(t *testing.T) string { return entry(node(t), script(t, "task_server.mjs")) }

func modernTasks(t *testing.T) string {
	path, err := filepath.Abs(filepath.Join("scripts", "fastmcp_tasks_server.py"))
	if err != nil {
		t.Fatal(err)
	}
	e := entry(filepath.Join(cache, "python", "bin", "python"), path)
	return strings.TrimSuffix(e, "}") + `,"protocol":"modern"}`
}

func TestTasks(t *testing.T) {
	t.Parallel()
	gateway := mcptest.Gateway(t, config("old", legacyTasks(t), "new", modernTasks(t),
		"everything", entry(node(t), npmServer("server-everything"), "stdio")))
	url := gateway.URL + "/mcp"
	// The handshake contains the capabilities of the servers, so the test waits
	// for them: a call waits for its server.
	ready := connectGo(t, ours.LatestLegacy, &mcp.StreamableClientTransport{Endpoint: url})
	ready.expect(t, "old__work", nil, "worked")
	ready.expect(t, "new__quick", nil, "done")
	ready.expect(t, "everything__echo", map[string]any{"message": "hi"}, "Echo: hi")
	for server, dialect := range map[string]string{"old": "the same dialect", "new": "a modern server"} {
		t.Run("true/13 client of 2025-11-25, "+dialect, func(t *testing.T) {
			legacyClient(t, url, server+"__")
		})
		t.Run("true/13 client of 2025-11-25, "+dialect+", one server's endpoint", func(t *testing.T) {
			legacyClient(t, gateway.URL+"/s/"+server+"/mcp", "")
		})
	}
	for server, dialect := range map[string]string{"old": "a legacy server", "new": "the same dialect"} {
		t.Run("true/13 modern client, "+dialect, func(t *testing.T) { modernClient(t, url, server+"__") })
		t.Run("true/13 modern client, "+dialect+", one server's endpoint", func(t *testing.T) {
			modernClient(t, gateway.URL+"/s/"+server+"/mcp", "")
		})
	}
	t.Run("true/13 modern client, the published server", func(t *testing.T) {
		const tool = "everything__simulate-research-query"
		task := runTasks(t, "task_modern.mjs", url, tool+`={"topic":"python","ambiguous":true}`).Tasks[tool]
		if task.Status != "completed" || !strings.Contains(task.Text, "Ada") || task.Question == "" {
			t.Errorf("the task ended as %s, asked %q: %s", task.Status, task.Question, task.Text)
		}
		for _, status := range []string{"working", "input_required", "completed"} {
			if !slices.Contains(task.Statuses, status) {
				t.Errorf("the task was never %s: %q", status, task.Statuses)
			}
		}
		if !slices.Contains(task.Messages, "Gathering sources...") && !slices.Contains(task.Messages, "Analyzing content...") {
			t.Errorf("its messages were %q", task.Messages)
		}
	})
}

// legacyClient runs tasks through the gateway with the client of 2025-11-25.
func legacyClient(t *testing.T, url, prefix string) {
	t.Helper()
	r := runTasks(t, "task_client.mjs", url, prefix+"work", prefix+"ask", prefix+"forever")
	if !strings.Contains(string(r.Capabilities), `"call"`) {
		t.Errorf("the client is told of %s", r.Capabilities)
	}
	if r.Support[prefix+"work"] != "optional" {
		t.Errorf("work as a task is %q", r.Support[prefix+"work"])
	}
	work, ask, forever := r.Tasks[prefix+"work"], r.Tasks[prefix+"ask"], r.Tasks[prefix+"forever"]
	if work.Text != "worked" || work.Again != "worked" || !work.Related || !slices.Contains(work.Statuses, "working") {
		t.Errorf("work: %+v", work)
	}
	if !slices.Contains(work.Progress, "step 2") && !slices.Contains(work.Messages, "step 2") {
		t.Errorf("how far work is was not told: progress %q, messages %q", work.Progress, work.Messages)
	}
	if ask.Text != "Hello, Ada!" || ask.Question != "Who are you?" || !slices.Contains(ask.Statuses, "input_required") {
		t.Errorf("ask: %+v", ask)
	}
	if forever.Cancelled != "cancelled" || !strings.Contains(forever.Error, "cancelled") {
		t.Errorf("forever: %+v", forever)
	}
	if !slices.Contains(r.Listed, work.ID) {
		t.Errorf("tasks/list has %q, not %q", r.Listed, work.ID)
	}
	if r.Plain != "worked" {
		t.Errorf("called without a task, work answers %q", r.Plain)
	}
}

// modernClient runs tasks through the gateway with the client of the extension.
func modernClient(t *testing.T, url, prefix string) {
	t.Helper()
	r := runTasks(t, "task_modern.mjs", url, prefix+"work", prefix+"ask", prefix+"forever")
	if string(r.Capabilities) != "{}" {
		t.Errorf("the client is told of %s", r.Capabilities)
	}
	work, ask, forever := r.Tasks[prefix+"work"], r.Tasks[prefix+"ask"], r.Tasks[prefix+"forever"]
	if work.Kind != "task" || work.Status != "completed" || work.Text != "worked" || work.Retention == nil {
		t.Errorf("work: %+v", work)
	}
	// A polling client may miss one of the steps.
	if !slices.ContainsFunc(work.Messages, func(m string) bool { return strings.Contains(m, "step 1") || strings.Contains(m, "step 2") }) {
		t.Errorf("how far work is was not told: %q", work.Messages)
	}
	if ask.Text != "Hello, Ada!" || ask.Question != "Who are you?" || !slices.Contains(ask.Statuses, "input_required") {
		t.Errorf("ask: %+v", ask)
	}
	if forever.Status != "cancelled" {
		t.Errorf("forever: %+v", forever)
	}
}
