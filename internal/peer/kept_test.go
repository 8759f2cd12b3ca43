package peer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

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

// TestKeptFrom checks that a result is sent with all servers that it came from.
func TestKeptFrom(t *testing.T) {
	secret := seal.NewSecret()
	a, b := node(t, "a", "team", secret), node(t, "b", "team", secret)
	owner := listen(t, a, http.NotFound).String()
	for _, from := range [][]string{nil, {"demo"}, {"demo", "other"}} {
		a.opt.Kept = func(context.Context, kept.Owner, string) (kept.Result, error) {
			return kept.Result{Data: []byte("a line\n"), From: from}, nil
		}
		r, err := FetchKept(t.Context(), b, owner, kept.Owner{Principal: "key:one"}, "result://1")
		if err != nil || !slices.Equal(r.From, from) {
			t.Errorf("cluster/kept/from %q: it came from %q: %v", from, r.From, err)
		}
	}
}

// TestKeptInTurn lets one principal read many results of a replica, all of which
// stay away. Those beyond its share are refused, and another principal does not wait.
func TestKeptInTurn(t *testing.T) {
	secret := seal.NewSecret()
	a, b := node(t, "a", "team", secret), node(t, "b", "team", secret)
	var arrive sync.WaitGroup // until then no result of the first principal is there
	arrive.Add(1)
	arrived := sync.OnceFunc(arrive.Done)
	t.Cleanup(arrived)
	a.opt.Kept = func(_ context.Context, owner kept.Owner, _ string) (kept.Result, error) {
		if owner.Principal == "key:many" {
			arrive.Wait()
		}
		return kept.Result{Data: []byte("a line\n")}, nil
	}
	owner := listen(t, a, http.NotFound).String()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const more = 3
	ends := make(chan error, maxServed+more+1)
	read := func(who string) {
		_, err := FetchKept(ctx, b, owner, kept.Owner{Principal: who}, "result://1")
		ends <- err
	}
	for range maxServed + more {
		go read("key:many")
	}
	for range more {
		err := <-ends
		if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || mcp.ReasonOf(wire) != mcp.Overloaded {
			t.Fatalf("cluster/kept/share: beyond its share it ends with %v", err)
		}
	}
	go read("key:one")
	if err := <-ends; err != nil {
		t.Fatalf("cluster/kept/in turn: the other principal: %v", err)
	}
	arrived()
	for range maxServed {
		if err := <-ends; err != nil {
			t.Fatalf("cluster/kept/share: within its share: %v", err)
		}
	}
}
