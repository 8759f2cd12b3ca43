package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/gateway/entry"
	"mcp-all-in-one/internal/gateway/roots"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// back sends a server's questions and notifications about one request to the
// client, on the stream of that request.
type back struct {
	line  *line
	from  jsonrpc.Peer
	trace uint64 // the request's entry in the record
}

func (b *back) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	start := time.Now()
	resp, err := b.line.question(ctx, b.from, req)
	b.line.journal.Asked(b.trace, start, req, resp, err)
	return resp, err
}

func (b *back) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	b.line.journal.Told(b.trace, n)
	b.line.pass(ctx, b.from, n)
}

// A line carries questions and notifications of servers to the client.
type line struct {
	*identity
	journal *entry.Journal
	level   atomic.Pointer[string] // lowest level of log messages for the client; nil for all
	roots   roots.Told
}

// question passes a server's question to the client, if the client declared the
// capability for it.
func (l *line) question(ctx context.Context, client jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if !l.caller.Offer.Allows(req.Method, req.Params) {
		return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
	}
	resp, err := client.Call(ctx, &jsonrpc.Request{Method: req.Method, Params: req.Params})
	if err == nil && resp.Err == nil && req.Method == mcp.MethodRootsList {
		err = l.roots.Hear(resp.Result, l.retain)
	}
	return resp, err
}

// pass sends a server's notification to the client. Log messages below the
// client's level are dropped.
func (l *line) pass(ctx context.Context, client jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationMessage && !l.wants(n.Params) {
		return
	}
	if err := client.Notify(ctx, n); err != nil {
		l.gw.log.Debug("passing a notification on", "method", n.Method, "err", err)
	}
}

func (l *line) wants(message []byte) bool {
	floor := l.level.Load()
	if floor == nil {
		return true
	}
	level, _ := jsonrpc.GetString(message, "level")
	return mcp.LevelAtLeast(level, *floor)
}

// inboundRoots answers roots/list, which clients of mcps-proxy send to a server. The answer is the configured roots, if the principal may see
// paths of this machine; otherwise the roots that this client last sent.
func (l *line) inboundRoots() (*jsonrpc.Response, error) {
	if roots := l.gw.config().Roots; len(roots) > 0 && l.opening.Who.MayInspect() {
		return &jsonrpc.Response{Result: marshal(map[string]any{"roots": roots})}, nil
	}
	if known := l.roots.Last(); known != nil {
		return &jsonrpc.Response{Result: known}, nil
	}
	return &jsonrpc.Response{Result: []byte(`{"roots":[]}`)}, nil
}
