package modern

import (
	"context"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
)

// TestCancelledWhileShedding ends a call while a busy server makes it wait: the
// answer that said so is released.
func TestCancelledWhileShedding(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	released := 0
	resp := jsonrpc.NewResponse([]byte(`{"resultType":"input_required"}`), func() { released++ })
	if _, err := new(Rounds).Run(ctx, []byte(`{}`), resp); err == nil || released != 1 {
		t.Errorf("error %v, released %d times", err, released)
	}
}
