// Package start waits for servers that start.
package start

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// Await waits until a server has answered or failed once.
func Await(ctx context.Context, u *upstream.Upstream, wait time.Duration) {
	select {
	case <-u.Settled():
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// AwaitAll waits until each server has answered c or failed once.
func AwaitAll(ctx context.Context, servers []*upstream.Upstream, c *upstream.Caller, wait time.Duration) {
	if wait <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var all sync.WaitGroup
	for _, u := range servers {
		all.Go(func() { u.Prepare(ctx, c) })
	}
	all.Wait()
}

// Mark marks a list as incomplete while servers are starting, so that a client that
// lists only once can tell.
func Mark(servers []*upstream.Upstream, list *jsonrpc.Response) {
	starting := 0
	for _, u := range servers {
		select {
		case <-u.Settled():
		default:
			starting++
		}
	}
	if starting > 0 {
		list.Result = jsonrpc.Set(list.Result, strconv.AppendInt(nil, int64(starting), 10), "_meta", mcp.MetaStarting)
	}
}
