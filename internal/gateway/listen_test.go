package gateway

import (
	"context"
	"sync"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// TestListenWhileListsChange opens subscriptions while changes are announced: a
// subscription that gets notifications must know the state before them.
func TestListenWhileListsChange(t *testing.T) {
	server := newRaw(t, `{"tools":{}}`, map[string]string{mcp.MethodToolsList: `{"tools":[]}`})
	g := newGateway(t, map[string]string{"a": server.URL}, nil)
	s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Client: nobody{}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for ctx.Err() == nil {
			g.listeners.Announce(ctx)
		}
	})
	for range 200 {
		client := told{notes: make(chan string, 100)}
		listening, leave := context.WithCancel(ctx)
		wg.Go(func() {
			s.Handle(listening, client, &jsonrpc.Request{Method: mcp.MethodListen, Params: []byte(`{"notifications":{"toolsListChanged":true},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)})
		})
		client.next(t, mcp.NotificationListening)
		leave()
	}
}
