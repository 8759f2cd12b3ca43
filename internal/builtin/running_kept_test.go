package builtin

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// TestKeptIsBounded lets a script read many parts of kept results at once and take
// no answer. It gets as many answers as it may make calls at once, and one whole
// result at a time is in memory.
func TestKeptIsBounded(t *testing.T) {
	for _, method := range []string{script.MethodKept, script.MethodKeptSlice} {
		t.Run("code/bounds/"+method, func(t *testing.T) {
			env := world(t)
			var inside atomic.Int64
			env.Kept = func(context.Context, string) (kept.Result, error) {
				defer inside.Add(-1)
				if n := inside.Add(1); n > 1 {
					t.Errorf("%d results are loaded at once", n)
				}
				for range 100 {
					runtime.Gosched()
				}
				return kept.Result{Data: []byte("one\ntwo\nthree")}, nil
			}
			limits := script.Defaults
			r := &running{env: env, limits: limits, slots: make(chan struct{}, limits.Parallel)}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			const asked = 64
			answers := make(chan error)
			for range asked {
				go func() {
					_, err := r.Handle(ctx, nil, &jsonrpc.Request{Method: method, Params: []byte(`{"uri":"result://1","lines":"1-2"}`)})
					answers <- err
				}()
			}
			for range limits.Parallel {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			end()
			for range asked - limits.Parallel {
				if err := <-answers; err == nil {
					t.Error("one more answer is held")
				}
			}
		})
	}
}

// TestKeptErrors checks that a script can tell a result that is gone from one that
// it can read later.
func TestKeptErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		reason string
		retry  bool
	}{
		{kept.ErrNotFound, "not_found", false},
		{kept.OwnerGone("a"), "not_found", false},
		{mcp.Failure(mcp.UpstreamUnavailable, "", "try again"), string(mcp.UpstreamUnavailable), true},
	} {
		env := world(t)
		env.Kept = func(context.Context, string) (kept.Result, error) { return kept.Result{}, c.err }
		r := &running{env: env, limits: script.Defaults}
		if _, bad := r.kept(t.Context(), &jsonrpc.Request{Method: script.MethodKept}); bad == nil || bad.Reason != c.reason || bad.Retry != c.retry {
			t.Errorf("code/kept %v: %+v", c.err, bad)
		}
	}
}
