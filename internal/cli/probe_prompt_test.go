package cli

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// TestPromptsOnTheCommandLine runs the prompt cases of MCP Tester against the
// demo server.
func TestPromptsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	product := mcptest.BuildProduct(t)
	for _, tt := range []struct {
		id   string
		args []string
		code int
		want string // in the output
		sent string // in the request; "-" when none is sent
	}{
		{"req/S004-1", []string{"greeting"}, 0, "Say hello to me.", `"params":{"name":"greeting","_meta"`},
		{"req/S004-9", []string{"summarize", "text=x"}, 0, "plain style", `"arguments":{"text":"x"}`},
		{"req/S004-10", []string{"summarize"}, 2, `missing required argument "text"`, "-"},
		{"req/S004-11", []string{"greeting"}, 0, "Say hello to me.", `"params":{"name":"greeting","_meta"`},
		{"req/S004-23", []string{"summarize", "--no-validate"}, 5, "获取提示词失败：Missing required argument: text", `"params":{"name":"summarize","_meta"`},
	} {
		t.Run(tt.id, func(t *testing.T) {
			args := append([]string{"prompt", "-v"}, tt.args...)
			cmd := exec.CommandContext(t.Context(), product, append(args, "--", product, "demo")...)
			cmd.Env = append(cmd.Environ(), "MCP_AIO_LANG="+map[bool]string{true: "zh", false: "en"}[tt.id == "req/S004-23"])
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", code, tt.code, tt.want, out)
			}
			if sends := strings.Contains(string(out), `"method":"prompts/get"`); sends != (tt.sent != "-") {
				t.Errorf("sent: %v\n%s", sends, out)
			}
			if tt.sent != "-" && !strings.Contains(string(out), tt.sent) {
				t.Errorf("no %s in:\n%s", tt.sent, out)
			}
		})
	}
}
