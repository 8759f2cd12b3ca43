package peer

import (
	"errors"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/seal"
)

// TestKeptLater checks that a result whose replica cannot be reached may be read
// later, and that one which the replica does not have may not.
func TestKeptLater(t *testing.T) {
	secret := seal.NewSecret()
	for answer, found := range map[string]bool{"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf": true, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n": false} {
		owner, _ := answering(t, node(t, "a", "team", secret), answer)
		_, err := FetchKept(t.Context(), node(t, "b", "team", secret), owner.String(), kept.Owner{}, "result://1")
		wire, ok := errors.AsType[*jsonrpc.Error](err)
		if ok != found || errors.Is(err, kept.ErrNotFound) == found || found && mcp.ReasonOf(wire) != mcp.UpstreamUnavailable {
			t.Errorf("cluster/kept/later %q: %v", answer, err)
		}
	}
}
