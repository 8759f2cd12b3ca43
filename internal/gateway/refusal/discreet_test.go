package refusal

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
)

// A client that may not see why a server ended is still told that its call may
// have run.
func TestDiscreet(t *testing.T) {
	for reason, want := range map[mcp.Reason]string{
		mcp.UpstreamUnavailable: `server "files" is not available`,
		mcp.UpstreamClosed:      `server "files" ended before it answered; whether the call ran is unknown`,
	} {
		err := Discreet(mcp.Failure(reason, "files", "its output: secret"), &access.Principal{ID: "key:plain"})
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
