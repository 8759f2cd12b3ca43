package interop

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest"
)

// A report is what the official TypeScript client saw.
type report struct {
	Error        string
	Server       struct{ Name string }
	Capabilities map[string]json.RawMessage
	Tools, Resources, Templates, Prompts,
	Completion []string
	Text, Blob, Templated, Greeting, Summary, Echo, Image, Audio,
	Question, Asked, Sampled, Roots, Long, Updated, Cancelled string
	Missing, Unknown            int
	Sum                         map[string]int
	Failure, Concurrent, Pinged bool
	// Progress is what the handler of the call got, Arrived what came over the
	// transport, Together what came in one piece with the answer.
	Progress, Arrived, Together []int
	Log                         []struct {
		Level string
		Data  string
	}
}

func runClient(t *testing.T, args ...string) *report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, node(t), append([]string{script(t, "client.mjs")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stderr = &logWriter{t}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client: %v\n%s", err, out)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("reading the client's report: %v\n%s", err, out)
	}
	if r.Error != "" {
		t.Fatalf("the client failed: %s\nit saw: %s", r.Error, out)
	}
	return &r
}

// A logWriter writes the output of a program to the test's log.
type logWriter struct{ t *testing.T }

func (w *logWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

func (r *report) check(t *testing.T, prefix, roots string) {
	t.Helper()
	for _, tool := range []string{"echo", "add", "long_task", "ask_name", "ask_model", "show_roots", "fail"} {
		if !slices.Contains(r.Tools, prefix+tool) {
			t.Errorf("tool %s is not listed: %q", prefix+tool, r.Tools)
		}
	}
	for _, c := range []string{"tools", "resources", "prompts", "logging", "completions"} {
		if r.Capabilities[c] == nil {
			t.Errorf("capability %s is not declared", c)
		}
	}
	want := &report{
		Text: "This is text number 2.", Blob: "image/png", Templated: "This is text number 77.",
		Greeting: "Say hello to me.", Summary: "Summarize this in a plain style:\nlong story",
		Echo: "<héllo> 😀", Image: "image/png", Audio: "audio/wav", Question: "What is your name?",
		Asked: "Hello, Ada!", Sampled: "gpt-test says: forty-two", Roots: roots,
		Long: "done after 3 steps", Updated: "demo://clock", Cancelled: "cancelled",
		Missing: -32002, Unknown: -32602, Sum: map[string]int{"sum": 42},
		Failure: true, Concurrent: true, Pinged: true,
		Arrived: []int{1, 2, 3}, Together: r.Together, Completion: []string{"formal", "funny"},
	}
	// The SDK drops the progress that comes in one piece with the answer.
	want.Progress = slices.DeleteFunc(slices.Clone(want.Arrived), func(n int) bool { return slices.Contains(r.Together, n) })
	got := *r
	got.Server.Name, got.Capabilities, got.Tools, got.Resources, got.Templates, got.Prompts, got.Log = "", nil, nil, nil, nil, nil, nil
	if diff := cmp.Diff(want, &got); diff != "" {
		t.Errorf("what the client saw (-want +got):\n%s", diff)
	}
	if len(r.Log) != 1 || r.Log[0].Level != "error" || r.Log[0].Data != "loud" {
		t.Errorf("log messages at level warning: %+v", r.Log)
	}
}

// ownRoots is the answer of show_roots, from the client's first call on.
const ownRoots = "1 roots\nfile:///interop"

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern", "dual"} {
		servers := config("demo", perSession(demoEntry(t, "-era", era)))
		t.Run("req/S002-34 stdio, "+era+" server", func(t *testing.T) {
			path := mcptest.WriteConfig(t, servers)
			runClient(t, "demo__", "stdio", mcptest.BuildProduct(t), "stdio", "--mcp-config", path).check(t, "demo__", ownRoots)
		})
		t.Run("req/S002-35 http, "+era+" server", func(t *testing.T) {
			g := mcptest.Gateway(t, servers)
			runClient(t, "demo__", "http", g.URL+"/mcp").check(t, "demo__", ownRoots)
		})
		t.Run("sse, "+era+" server", func(t *testing.T) {
			g := mcptest.Gateway(t, servers)
			runClient(t, "demo__", "sse", g.URL+"/sse").check(t, "demo__", ownRoots)
		})
	}
	t.Run("one server's own endpoint", func(t *testing.T) {
		g := mcptest.Gateway(t, config("demo", demoEntry(t)))
		runClient(t, "", "http", g.URL+"/s/demo/mcp").check(t, "", ownRoots)
	})
}

// TestDemoServerItself is the reference: what the same client sees without a
// gateway.
func TestDemoServerItself(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		runClient(t, "", "stdio", mcptest.Build(t), "-role", "demo").check(t, "", ownRoots)
	})
	p := mcptest.Start(t, mcptest.Program{Path: mcptest.Build(t), Args: []string{"-role", "demo", "-http", "127.0.0.1:0"}})
	url := p.Listening()
	t.Run("http", func(t *testing.T) { runClient(t, "", "http", url+"/mcp").check(t, "", ownRoots) })
	t.Run("sse", func(t *testing.T) { runClient(t, "", "sse", url+"/sse").check(t, "", ownRoots) })
}
