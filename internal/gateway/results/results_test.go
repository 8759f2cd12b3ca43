package results

import (
	"context"
	"errors"
	"testing"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// TestReadLater checks that resources/read tells a result that is gone from one that
// can be read later.
func TestReadLater(t *testing.T) {
	later := mcp.Failure(mcp.UpstreamUnavailable, "", "try again")
	for _, c := range []struct {
		err  error
		want mcp.Reason
	}{{kept.ErrNotFound, ""}, {later, mcp.UpstreamUnavailable}} {
		env := &builtin.Env{Kept: func(context.Context, string) (kept.Result, error) { return kept.Result{}, c.err }}
		_, err := Read(t.Context(), env, "result://1")
		if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || mcp.ReasonOf(wire) != c.want {
			t.Errorf("cluster/kept/later %v: %v", c.err, err)
		}
	}
}
