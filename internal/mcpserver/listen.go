package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A listen is one open subscriptions/listen request.
type listen struct {
	filter filter
	from   jsonrpc.Peer
	id     json.RawMessage
	ctx    context.Context
}

type filter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (s *Session) listen(ctx context.Context, from jsonrpc.Peer, p *params) (any, error) {
	l := &listen{from: from, ctx: ctx}
	if p.Notifications == nil || json.Unmarshal(p.Notifications, &l.filter) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "notifications must be an object")
	}
	if asker, ok := from.(interface{ RequestID() []byte }); ok {
		l.id = asker.RequestID()
	}
	l.tell(mcp.NotificationListening, map[string]any{"notifications": l.filter})
	s.mu.Lock()
	s.listens = append(s.listens, l)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listens = slices.DeleteFunc(s.listens, func(other *listen) bool { return other == l })
	}()
	var ticking sync.WaitGroup
	defer ticking.Wait()
	for _, uri := range l.filter.URIs {
		if every := s.server.features.tick(uri); every > 0 {
			ticking.Go(func() {
				repeat(ctx, every, func() { l.tell(mcp.NotificationUpdated, map[string]any{"uri": uri}) })
			})
		}
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.life.Done():
		return map[string]any{"resultType": "complete", "_meta": map[string]any{mcp.MetaSubscriptionID: l.id}}, nil
	}
}

func (l *listen) tell(method string, params map[string]any) {
	if l.id != nil {
		params["_meta"] = map[string]any{mcp.MetaSubscriptionID: l.id}
	}
	// If the listener has disconnected, its own request ends.
	_ = l.from.Notify(l.ctx, &jsonrpc.Notification{Method: method, Params: encode(params)})
}

// wants reports whether a notification passes the filter.
func (f *filter) wants(method, uri string) bool {
	switch method {
	case mcp.NotificationTools:
		return f.Tools
	case mcp.NotificationPrompts:
		return f.Prompts
	case mcp.NotificationResources:
		return f.Resources
	case mcp.NotificationUpdated:
		return slices.Contains(f.URIs, uri)
	}
	return false
}

func (s *Session) tellListeners(method, uri string) {
	s.mu.Lock()
	listens := slices.Clone(s.listens)
	s.mu.Unlock()
	for _, l := range listens {
		if !l.filter.wants(method, uri) {
			continue
		}
		params := map[string]any{}
		if uri != "" {
			params["uri"] = uri
		}
		l.tell(method, params)
	}
}
