package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

func (s *Session) handleLegacy(ctx context.Context, from jsonrpc.Peer, method string, p *params) (any, error) {
	legacy := s.server.spoken(mcp.Legacy)
	if len(legacy) == 0 {
		if method == mcp.MethodInitialize {
			return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", method)
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "missing _meta member %s", mcp.MetaVersion)
	}
	switch method {
	case mcp.MethodInitialize:
		return s.initialize(p, legacy)
	case mcp.MethodPing:
		return struct{}{}, nil
	}
	if s.Version() == "" {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s before initialize", method)
	}
	switch method {
	case mcp.MethodSetLevel:
		return s.setLevel(p.Level)
	case mcp.MethodSubscribe:
		return s.subscribe(p.URI)
	case mcp.MethodUnsubscribe:
		return s.unsubscribe(p.URI)
	}
	return s.server.features.answer(ctx, s.legacyCall(from, p), method)
}

func (s *Session) legacyCall(from jsonrpc.Peer, p *params) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	level := cmp.Or(s.level, "debug") // default of the server
	return &Call{Arguments: p.Arguments, Version: s.version, params: p, server: s.server, from: from, offer: s.offer, level: level}
}

func (s *Session) initialize(p *params, legacy []string) (any, error) {
	version := p.ProtocolVersion
	if !slices.Contains(legacy, version) {
		version = legacy[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "" {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "initialize was already answered")
	}
	s.version, s.offer = version, p.Capabilities
	result := map[string]any{
		"protocolVersion": version,
		"capabilities":    s.server.features.capabilities(),
		"serverInfo":      s.server.Info,
	}
	if s.server.Instructions != "" {
		result["instructions"] = s.server.Instructions
	}
	return result, nil
}

func (s *Session) setLevel(level string) (any, error) {
	if !slices.Contains(mcp.Levels(), level) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "unknown log level: %s", level)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
	return struct{}{}, nil
}

func (s *Session) subscribe(uri string) (any, error) {
	ctx, stop := context.WithCancel(s.life)
	s.mu.Lock()
	if old := s.ticks[uri]; old != nil {
		old()
	}
	s.ticks[uri] = stop
	s.mu.Unlock()
	if every := s.server.features.tick(uri); every > 0 {
		s.work.Go(func() {
			repeat(ctx, every, func() { s.updated(uri) })
		})
	}
	return struct{}{}, nil
}

func (s *Session) unsubscribe(uri string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.ticks[uri]; stop != nil {
		stop()
		delete(s.ticks, uri)
	}
	return struct{}{}, nil
}

func (f *features) tick(uri string) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.resources {
		if member(r.Definition, "uri") == uri {
			return r.Tick
		}
	}
	return 0
}

func repeat(ctx context.Context, every time.Duration, f func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// updated notifies the client about a resource if it has subscribed to it.
func (s *Session) updated(uri string) {
	s.mu.Lock()
	_, legacy := s.ticks[uri]
	s.mu.Unlock()
	if legacy {
		s.push(mcp.NotificationUpdated, map[string]any{"uri": uri})
	}
	s.tellListeners(mcp.NotificationUpdated, uri)
}

// announce notifies the client that a list has changed.
func (s *Session) announce(method string, params map[string]any) {
	if s.Version() != "" {
		s.push(method, params)
	}
	s.tellListeners(method, "")
}

// push sends a notification outside any call.
func (s *Session) push(method string, params map[string]any) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return
	}
	n := &jsonrpc.Notification{Method: method}
	if params != nil {
		n.Params = encode(params)
	}
	_ = client.Notify(s.life, n) // fails only if the client has disconnected
}
