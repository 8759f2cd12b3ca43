package probe

import (
	"context"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
)

// TestDownOnlyAfterOpen has a server end before the handshake: Open returns the
// error, and OnDown is not called for a session that never existed.
func TestDownOnlyAfterOpen(t *testing.T) {
	target := Target{Name: "gone", Dial: func(context.Context) (jsonrpc.Stream, func(), error) {
		ours, theirs := duplex.Pipe()
		return ours, func() {}, theirs.Close()
	}}
	for range 100 {
		_, err := Open(t.Context(), target, Options{OnDown: func(err error) { t.Errorf("OnDown(%v)", err) }})
		if err == nil {
			t.Fatal("a server that is gone was opened")
		}
	}
}
