//go:build unix

package i18n

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A shell reads the words of a command unchanged.
func TestCommand(t *testing.T) {
	words := []string{"plain-1", "", "<x|y>", "it's", `"quoted"`, "$HOME", "`id`", "a;b&c", "天气", "two words", "line\nline", "!", "*", "~", "#"}
	line := Command(append([]string{"printf", `%s\0`}, words...)...)
	out, err := exec.Command("sh", "-c", line).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, words) {
		t.Errorf("%s\nis read as %q, %v", line, got, err)
	}
	if got := Command("mcp-all-in-one", "approve", "github", "-c", "/etc/mcp.json"); got != "mcp-all-in-one approve github -c /etc/mcp.json" {
		t.Errorf("plain words became %s", got)
	}
}
