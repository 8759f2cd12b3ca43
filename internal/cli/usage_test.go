package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// A usageHome is a user who asks for figures, without a gateway that runs.
type usageHome struct{ dir, config string }

func newUsageHome(t *testing.T, config string) usageHome {
	t.Helper()
	h := usageHome{dir: t.TempDir()}
	h.config = filepath.Join(h.dir, "mcp.json")
	if err := os.WriteFile(h.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h usageHome) usage(t *testing.T, lang string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	binary := mcptest.BuildProduct(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"usage", "-c", h.config}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "XDG_STATE_HOME="+filepath.Join(h.dir, "state"), "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG="+lang)
	var out, says strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &says
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("usage %v does not end: %v", args, err)
	}
	return out.String(), says.String(), cmd.ProcessState.ExitCode()
}

// usage/days: a number of days that nothing is kept for is refused.
func TestUsageDays(t *testing.T) {
	h := newUsageHome(t, `{"mcpServers":{}}`)
	for _, days := range []string{"-1", "0", "367", "800000", "1000000000"} {
		for lang, want := range map[string]string{"en": "from 1 to 366", "zh": "1 到 366"} {
			if _, says, code := h.usage(t, lang, "--days", days); code != 2 || !strings.Contains(says, want) {
				t.Errorf("--days %s: exit code %d: %s", days, code, says)
			}
		}
	}
	if _, says, code := h.usage(t, "en", "--days", "366"); code != 0 {
		t.Errorf("exit code %d: %s", code, says)
	}
}
