package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

// A toy is a session with a few tools.
type toy struct {
	w  *world
	o  *mcphttp.Opening
	mu sync.Mutex
	v  string
}

func (s *toy) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v
}

func (s *toy) Close() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.closed++
}

func (s *toy) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	s.w.notes <- n.Method + string(n.Params)
}

func result(format string, args ...any) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: fmt.Appendf(nil, format, args...)}, nil
}

const toyTools = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`

func (s *toy) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodInitialize:
		proposed, _ := jsonrpc.GetString(req.Params, "protocolVersion")
		v, err := mcp.Negotiate(proposed)
		if err != nil {
			return &jsonrpc.Response{Err: err}, nil
		}
		s.mu.Lock()
		s.v = v
		s.mu.Unlock()
		return result(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"toy","version":"1"}}`, v)
	case mcp.MethodDiscover:
		return result(`{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toy","version":"1"}}}`, mcp.LatestModern)
	case mcp.MethodPing:
		return result(`{}`)
	case mcp.MethodToolsList:
		return result(toyTools)
	case mcp.MethodListen:
		_ = from.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationListening, Params: []byte(`{"notifications":{}}`)})
		s.w.started <- "listen"
		<-ctx.Done()
		s.w.ended <- context.Cause(ctx)
		return result(`{"resultType":"complete"}`)
	case mcp.MethodToolsCall:
		return s.callTool(ctx, from, req)
	case mcp.MethodShutdown:
		s.o.End()
		return result(`{}`)
	}
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method '%s' not found", req.Method)}, nil
}

func text(s string) (*jsonrpc.Response, error) {
	return result(`{"content":[{"type":"text","text":%s}],"resultType":"complete"}`, jsonrpc.Quote(s))
}

func (s *toy) callTool(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	name, _ := jsonrpc.GetString(req.Params, "name")
	word, _ := jsonrpc.GetString(req.Params, "arguments", "text")
	var n int
	_ = json.Unmarshal(jsonrpc.Get(req.Params, "arguments", "n"), &n)
	switch name {
	case "echo":
		return text(word)
	case "big":
		return text(strings.Repeat("x", n))
	case "panic":
		panic("on purpose")
	case "fail":
		return nil, io.ErrUnexpectedEOF
	case "notify":
		for i := range n {
			if err := from.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationProgress, Params: fmt.Appendf(nil, "{\"progressToken\":%q,\n\"progress\":%d}", word, i)}); err != nil {
				return nil, err
			}
		}
		return text("notified")
	case "wait": // sends notifications first, if there are any
		if n > 0 {
			_ = from.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationProgress, Params: []byte(`{"progressToken":1,"progress":0}`)})
		}
		s.w.started <- word
		select {
		case <-s.w.release:
			return text("released " + word)
		case <-ctx.Done():
			s.w.ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}
	case "ask":
		resp, err := from.Call(ctx, &jsonrpc.Request{Method: mcp.MethodElicit, Params: fmt.Appendf(nil, `{"message":%q,"requestedSchema":{"type":"object","properties":{}}}`, word)})
		if err != nil {
			return text("error: " + err.Error())
		}
		if resp.Err != nil {
			return text("refused: " + resp.Err.Message)
		}
		return text("answer: " + string(resp.Result))
	}
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Tool '%s' not found", name)}, nil
}
