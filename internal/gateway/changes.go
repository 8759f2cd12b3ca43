package gateway

import (
	"context"

	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
)

// Changed reports that a server's features changed. It never blocks.
func (g *Gateway) Changed() { g.changes.Note() }

// announce notifies every client of its changed lists.
func (g *Gateway) announce(ctx context.Context) {
	for _, s := range g.connected() {
		s.announce(ctx)
		s.subscriptions.follow(g.stopping)
	}
	g.listeners.Announce(ctx)
}

// announce notifies one session of the lists that changed since the last
// notification. A session that has read no list yet needs none.
func (w *viewer) announce(ctx context.Context) {
	was := w.announced.Load()
	if was == nil || w.Version() == "" {
		return
	}
	now := w.look()
	w.announced.Store(now)
	for _, method := range view.Changed(was, now, w.listView) {
		w.opening.Client.Notify(ctx, &jsonrpc.Notification{Method: method})
	}
}
