package builtin

import (
	"context"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// TestShareOfSearches lets one client start more searches than its share. The
// first answer is a refusal that says so, because no search ends. Those that wait
// have loaded nothing: a result may be large.
func TestShareOfSearches(t *testing.T) {
	env := world(t)
	var loaded atomic.Int64
	env.Kept = func(context.Context, string) (kept.Result, error) {
		loaded.Add(1)
		return kept.Result{Data: []byte(`{"n":1}`)}, nil
	}
	env.JQ = func(ctx context.Context, _ []byte, _ string, _ int64) (kept.Part, error) {
		<-ctx.Done()
		return kept.Part{}, ctx.Err()
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	const asked = 9
	refused := make(chan error)
	for range asked {
		go func() {
			_, err := readKept(ctx, env, []byte(`{"result":"result://1","jq":".n"}`))
			refused <- err
		}()
	}
	if err := <-refused; wireOf(err) == nil || mcp.ReasonOf(wireOf(err)) != mcp.Overloaded || string(jsonrpc.Get(wireOf(err).Data, "retryable")) != "true" {
		t.Errorf("code/jq share: one search too many is answered with %v", err)
	}
	if n := loaded.Load(); n > 1 {
		t.Errorf("code/jq loaded in turn: %d results are loaded for one search that runs", n)
	}
	end()
	for range asked - 1 {
		<-refused
	}
}
