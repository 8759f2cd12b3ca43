package gateway

import (
	"context"
	"sync"
	"time"

	"mcp-all-in-one/internal/gateway/start"
	"mcp-all-in-one/internal/jsonrpc"
)

// A startup delays requests of a client while servers start.
type startup struct {
	*sight
	once sync.Once
}

// awaitAll delays the first list of a session until each server has answered or
// failed once, up to a limit: the client would cache an empty list.
func (s *startup) awaitAll(ctx context.Context) {
	s.once.Do(func() { start.AwaitAll(ctx, s.upstreams(), s.caller, s.patience()) })
}

// patience is how long the first list may wait.
func (s *startup) patience() time.Duration {
	wait := s.gw.config().StartWait
	if !s.opening.Session && !s.opening.Stdio {
		wait = s.left() // requests outside any session share one wait
	}
	if s.opening.Header != nil && !s.caller.Offer.Empty() {
		wait = max(wait, maxHello) // usually a connection with the same offers exists
	}
	return wait
}

// left is how long a client waits for servers that start with the gateway.
func (s *startup) left() time.Duration {
	wait := s.gw.config().StartWait
	if s.opening.Stdio {
		return wait // the servers start after the client's handshake
	}
	return min(wait, time.Until(s.gw.started.Add(wait)))
}

// maxHello is how long the answer to a handshake may wait, even if lists may
// wait longer: the shortest timeout of a known client is 5 s.
const maxHello = 4 * time.Second

// hello waits for starting servers, so that the handshake has their capabilities.
func (s *startup) hello(ctx context.Context) {
	start.AwaitAll(ctx, s.upstreams(), s.caller, min(s.left(), maxHello))
}

// meet waits like hello, and until servers of both eras have reported their
// capabilities in the modern one. Both together take no longer than maxHello.
func (s *startup) meet(ctx context.Context, p requestClient) {
	ctx, cancel := context.WithTimeout(ctx, maxHello)
	defer cancel()
	s.hello(ctx)
	start.AwaitAll(ctx, s.upstreams(), p.caller, maxHello)
}

func (s *startup) unfinished(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err == nil && resp.Err == nil {
		start.Mark(s.upstreams(), resp)
	}
	return resp, err
}
