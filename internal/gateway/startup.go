package gateway

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// A startup lets the requests of a client wait for servers that start.
type startup struct {
	*sight
	once sync.Once
}

// settle waits before the first list of a session until each server has
// answered or failed once, for a bounded time: an empty list would be cached
// by the client.
func (s *startup) settle(ctx context.Context) {
	s.once.Do(func() {
		wait := s.gw.config().StartWait
		if !s.opening.Session && !s.opening.Stdio {
			wait = s.left() // requests outside any session wait together, once
		}
		if s.opening.Header != nil && !s.caller.Offer.Empty() {
			wait = maxHello // a connection that offers the same is mostly there
		}
		s.prepare(ctx, s.caller, wait)
	})
}

// left is how long a client waits for servers that start with the gateway.
func (s *startup) left() time.Duration {
	wait := s.gw.config().StartWait
	if s.opening.Stdio {
		return wait // the servers start when the client has said hello
	}
	return min(wait, time.Until(s.gw.started.Add(wait)))
}

// maxHello bounds how long the answer to a handshake waits, however long lists
// may: the shortest limit of a known client is 5 s.
const maxHello = 4 * time.Second

// hello waits for servers that start, before a client is told what they can do.
func (s *startup) hello(ctx context.Context) { s.prepare(ctx, s.caller, min(s.left(), maxHello)) }

// meet waits until the servers that speak the era of a modern client, too, have
// told what they can do in it.
func (s *startup) meet(ctx context.Context, p party) { s.prepare(ctx, p.caller, maxHello) }

// prepare waits until each server has answered or failed once.
func (s *startup) prepare(ctx context.Context, c *upstream.Caller, wait time.Duration) {
	if wait <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var wg sync.WaitGroup
	for _, u := range s.upstreams() {
		wg.Go(func() { u.Prepare(ctx, c) })
	}
	wg.Wait()
}

// unfinished marks a list that servers will add to which are still starting: a
// client that lists once knows then that it is early.
func (s *startup) unfinished(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	starting := 0
	for _, u := range s.upstreams() {
		select {
		case <-u.Settled():
		default:
			starting++
		}
	}
	if err == nil && resp.Err == nil && starting > 0 {
		resp.Result = jsonrpc.Set(resp.Result, strconv.AppendInt(nil, int64(starting), 10), "_meta", mcp.MetaStarting)
	}
	return resp, err
}

// awaitServer waits until one server has answered or failed once.
func awaitServer(ctx context.Context, u *upstream.Upstream, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-u.Settled():
	case <-t.C:
	case <-ctx.Done():
	}
}
