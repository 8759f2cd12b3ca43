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
	"mcp-all-in-one/internal/mcptest/must"
)

// A usageHome is a home directory without a running gateway.
type usageHome struct{ dir, config string }

func newUsageHome(t *testing.T, config string) usageHome {
	t.Helper()
	h := usageHome{dir: t.TempDir()}
	h.config = filepath.Join(h.dir, "mcp.json")
	must.Write(t, h.config, config)
	return h
}

func (h usageHome) env() []string {
	return []string{"HOME=" + h.dir, "XDG_STATE_HOME=" + filepath.Join(h.dir, "state"), "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR="}
}

func (h usageHome) usage(t *testing.T, lang string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	binary := mcptest.BuildProduct(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"usage", "-c", h.config}, args...)...)
	cmd.Env = append(append(os.Environ(), h.env()...), "MCP_AIO_LANG="+lang)
	var out, says strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &says
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("usage %v does not end: %v", args, err)
	}
	return out.String(), says.String(), cmd.ProcessState.ExitCode()
}

// usage/days: a number of days for which nothing is stored is refused.
func TestUsageDays(t *testing.T) {
	t.Parallel()
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

// usage/off: if nothing is counted, there is no output about calls.
func TestUsageOff(t *testing.T) {
	t.Parallel()
	off, on := newUsageHome(t, `{"usage":{"enabled":false},"mcpServers":{}}`), newUsageHome(t, `{"mcpServers":{}}`)
	for lang, want := range map[string]string{"en": "calls are not counted: usage.enabled is false", "zh": "未统计调用：usage.enabled 为 false"} {
		if _, says, code := off.usage(t, lang); code != 0 || strings.TrimSpace(says) != want {
			t.Errorf("exit code %d: %s", code, says)
		}
		if _, says, _ := on.usage(t, lang); strings.Contains(says, want) || says == "" {
			t.Errorf("where calls are counted: %s", says)
		}
	}
	for h, want := range map[usageHome]string{off: `"on":false`, on: `"on":true`} {
		if out, says, _ := h.usage(t, "en", "--json"); !strings.Contains(out, want) {
			t.Errorf("no %s in %s%s", want, out, says)
		}
	}
	mcptest.Start(t, mcptest.Program{Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", off.config}, Env: off.env()}).Listening()
	for _, args := range [][]string{nil, {"--unused"}} {
		if _, says, code := off.usage(t, "en", args...); code != 0 || strings.TrimSpace(says) != "calls are not counted: usage.enabled is false" {
			t.Errorf("of a gateway, %v: exit code %d: %s", args, code, says)
		}
	}
	if out, says, _ := off.usage(t, "en", "--unused", "--json"); !strings.Contains(out, `"on":false`) {
		t.Errorf("of a gateway: %s%s", out, says)
	}
}

// usage/unreadable: an unreadable day is not a day without calls.
func TestUsageUnreadable(t *testing.T) {
	t.Parallel()
	h := newUsageHome(t, `{"mcpServers":{}}`)
	folder, day := filepath.Join(h.dir, "state", "mcp-all-in-one", "usage"), time.Now().AddDate(0, 0, -2).Format(time.DateOnly)
	must.Folder(t, folder)
	must.Write(t, filepath.Join(folder, day+".tsv"), "# usage 1: princ")
	for lang, want := range map[string]string{"en": "figures of " + day + " cannot be read", "zh": day + " 的统计数据无法读取"} {
		for _, args := range [][]string{nil, {"--json"}} {
			if out, says, code := h.usage(t, lang, args...); code != 0 || args == nil && !strings.Contains(says, want) || args != nil && !strings.Contains(out, `"unreadable":["`+day+`"]`) {
				t.Errorf("exit code %d: %s%s", code, out, says)
			}
		}
	}
}
