package seeds

import (
	"fmt"
	command "os/exec"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

// verified runs the last step of make verify on test results, and returns
// whether it succeeded.
func verified(t *testing.T, events, coverage, lint string) (string, bool) {
	t.Helper()
	root, err := mcptest.Root()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command.Command("go", "run", "./test/report", "-verify", "-coverage", coverage, "-lint", lint)
	cmd.Dir, cmd.Stdin = root, strings.NewReader(events)
	out, err := cmd.Output()
	return string(out), err == nil
}

// outcomes returns the events of tests that carry the ids of all clauses but
// one.
func outcomes(action string, without int) string {
	var b strings.Builder
	for n := 1; n <= 40; n++ {
		if n != without {
			fmt.Fprintf(&b, `{"Action":%q,"Package":"p","Test":"Test/%s/S002-%d"}`+"\n", action, "req", n)
		}
	}
	return b.String()
}

func TestVerify(t *testing.T) {
	good := outcomes("pass", 0)
	t.Run("req/S002-44", func(t *testing.T) {
		out, ok := verified(t, good, "74.0", "ok")
		for n := 1; n <= 8; n++ {
			if !strings.Contains(out, fmt.Sprintf("✅ 条款 %d：", n)) {
				t.Errorf("no line for clause %d:\n%s", n, out)
			}
		}
		if !ok || !strings.Contains(out, "✅ 代码质量") || !strings.Contains(out, "40 passed, coverage 74.0%") || !strings.HasSuffix(out, "验证通过\n") {
			t.Errorf("got\n%s", out)
		}
	})
	for name, c := range map[string]struct{ events, coverage, lint, want string }{
		"req/S002-41/coverage":     {good, "69.9", "ok", "❌ 40 passed, coverage 69.9%"},
		"req/S002-41/failed":       {good + outcomes("fail", 0), "74.0", "ok", "❌ 40 passed"},
		"req/S002-42+S002-43/lint": {good, "74.0", "", "❌ 代码质量"},
		"req/S002-44/clause":       {outcomes("pass", 13), "74.0", "ok", "❌ 条款 4：MCP 代理服务器 (6/7) [S002-13]"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, ok := verified(t, c.events, c.coverage, c.lint); ok || !strings.Contains(out, c.want) || !strings.Contains(out, "验证未通过") {
				t.Errorf("succeeded %v:\n%s", ok, out)
			}
		})
	}
}
