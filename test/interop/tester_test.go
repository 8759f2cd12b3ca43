package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest"
)

// inspectorPath returns the program of the official inspector.
var inspectorPath = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("bash", "inspector.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// runProgram runs a program to its end and returns its output and exit code.
func runProgram(t *testing.T, stdin, path string, args ...string) (stdout string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "MCP_AIO_LANG=en")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", path, args, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %s\n%s%s", filepath.Base(path), strings.Join(args, " "), out, stderr.String())
		}
	})
	return string(out), cmd.ProcessState.ExitCode()
}

// TestInspectorAgrees runs the official inspector's command line and ours
// against the same servers, and compares the answers and exit codes.
func TestInspectorAgrees(t *testing.T) {
	t.Parallel()
	inspector, err := inspectorPath()
	if err != nil {
		t.Fatalf("installing the inspector: %v", err)
	}
	servers := map[string][]string{
		"demo":       {mcptest.BuildProduct(t), "demo"},
		"everything": {node(t), npmServer("server-everything")},
	}
	for _, tt := range []struct {
		name, server string
		theirs, ours []string
		code         int
	}{
		{"tools", "demo", []string{"--method", "tools/list"}, []string{"list", "tools", "--json"}, 0},
		{"resources", "demo", []string{"--method", "resources/list"}, []string{"list", "resources", "--json"}, 0},
		{"prompts", "everything", []string{"--method", "prompts/list"}, []string{"list", "prompts", "--json"}, 0},
		{"call", "demo", []string{"--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"}, []string{"call", "echo", "message=hi", "--json"}, 0},
		{"typed", "everything", []string{"--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=1", "b=2"}, []string{"call", "get-sum", "a=1", "b=2", "--json"}, 0},
		{"structured", "everything", []string{"--method", "tools/call", "--tool-name", "get-structured-content", "--tool-arg", "location=Chicago"},
			[]string{"call", "get-structured-content", "location=Chicago", "--json"}, 0},
		{"tool error", "demo", []string{"--method", "tools/call", "--tool-name", "fail"}, []string{"call", "fail", "--json"}, 5},
		{"unknown tool", "demo", []string{"--method", "tools/call", "--tool-name", "nothing"}, []string{"call", "nothing", "--json"}, 5},
		{"read", "demo", []string{"--method", "resources/read", "--uri", "demo://text/2"}, []string{"read", "demo://text/2", "--json"}, 0},
		{"prompt", "demo", []string{"--method", "prompts/get", "--prompt-name", "summarize", "--prompt-args", "text=abc"}, []string{"prompt", "summarize", "text=abc", "--json"}, 0},
		{"prompt without arguments", "everything", []string{"--method", "prompts/get", "--prompt-name", "simple-prompt"}, []string{"prompt", "simple-prompt", "--json"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			command := servers[tt.server]
			args := append(append([]string{inspector, "--cli"}, tt.theirs...), append([]string{"--"}, command...)...)
			theirs, theirCode := runProgram(t, "", node(t), args...)
			ours, ourCode := runProgram(t, "", mcptest.BuildProduct(t), append(append(tt.ours, "--"), command...)...)
			if theirCode != tt.code || ourCode != tt.code {
				t.Errorf("exit codes %d and %d, want %d", theirCode, ourCode, tt.code)
			}
			if diff := cmp.Diff(decoded(t, theirs), decoded(t, ours)); diff != "" {
				t.Errorf("answers differ (-inspector +ours):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
	return v
}

// everythingSession is the input of the recorded session with
// server-everything.
const everythingSession = `echo message="hello there"
get-sum a=1 b=2
get-structured-content location=Chicago
get-annotated-message messageType=error includeImage=true
get-tiny-image
get-resource-links count=3
tools
resources
templates
prompts
prompt simple-prompt
prompt args-prompt city=Berlin
read demo://resource/static/document/features.md
complete completable-prompt department=Eng
trigger-elicitation-request
trigger-sampling-request prompt=why
ping
`

// TestRecordingReplays records a session of server-everything and replays it
// against the same server without differences.
func TestRecordingReplays(t *testing.T) {
	t.Parallel()
	product := mcptest.BuildProduct(t)
	file := filepath.Join(t.TempDir(), "everything.mcpcap")
	server := []string{"--", node(t), npmServer("server-everything")}
	answers := `{"elicitation":{"name":"Ann","check":true},"sampling":"because"}`
	_, code := runProgram(t, everythingSession, product, append([]string{"shell", "--answer", answers, "--trace", file}, server...)...)
	if code != 0 {
		t.Fatalf("the shell ended with %d", code)
	}
	out, code := runProgram(t, "", product, append([]string{"replay", file}, server...)...)
	if code != 0 || !strings.Contains(out, " 0 different") {
		t.Errorf("replay ended with %d:\n%s", code, out)
	}
	for _, want := range []string{"✓ tools/call get-tiny-image", "✓ tools/call trigger-elicitation-request", "✓ prompts/get args-prompt", "✓ completion/complete"} {
		if !strings.Contains(out, want) {
			t.Errorf("replay says nothing of %q", want)
		}
	}
}
