package upstream

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/greet"
	"mcp-all-in-one/internal/upstream/inflight"
	"mcp-all-in-one/internal/upstream/listen"
	"mcp-all-in-one/internal/upstream/lists"
)

// A link is one connection to one server, from the handshake to its end.
type link struct {
	ending
	up     *connections
	slot   *slot
	peer   jsonrpc.Peer
	closer func(ctx context.Context) // ends the connection and waits
	spot   *Spot                     // where the server was, when it runs once in a cluster
	era    mcp.Era
	offer  mcp.Offer
	said   greet.Server

	loaded  *catalog.Features // what it offered when it was opened
	refresh *lists.Refresher
	listen  *listen.Listener // a modern server's one subscription
	levelMu sync.Mutex
	level   string // the level that the server was told

	calls *inflight.Table
}

func (l *link) close(ctx context.Context) {
	l.calls.Stop()
	l.refresh.Stop()
	l.listen.Stop()
	letFinish(ctx, l)
	l.closer(ctx)
	l.finish(nil)
	l.refresh.Wait()
}

var errStuck = i18n.Errorf("it does not read its input", "它不读取输入")

// GiveUp ends a connection that takes no bytes. Closing it ends the write that
// hangs, and link.close waits for that write.
func (l *link) GiveUp() {
	l.finish(errStuck)
	if conn, ok := l.peer.(*jsonrpc.Conn); ok {
		go conn.Close()
	}
}
