package gateway

import (
	"context"

	"mcp-all-in-one/internal/gateway/view"
	"mcp-all-in-one/internal/jsonrpc"
)

// Changed notes that something upstream changed. It never blocks.
func (g *Gateway) Changed() { g.changes.Note() }

// announce tells every client which of its lists changed.
func (g *Gateway) announce(ctx context.Context) {
	for _, s := range g.connected() {
		s.announce(ctx)
	}
	g.listeners.Announce(ctx)
}

// announce tells one session which of its lists changed since it was last
// told. A session that has seen no list yet has nothing to hear.
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
