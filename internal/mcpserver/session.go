package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Session is one client of a Server.
type Session struct {
	server *Server
	life   context.Context
	end    context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	client  jsonrpc.Peer
	version string
	offer   map[string]json.RawMessage
	level   string
	ticks   map[string]context.CancelFunc // legacy subscriptions
	listens []*listen                     // modern subscriptions
}

// Version returns the negotiated protocol version, "" before initialize.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Close ends the session and waits for its goroutines.
func (s *Session) Close() {
	s.server.mu.Lock()
	delete(s.server.sessions, s)
	s.server.mu.Unlock()
	s.end()
	s.work.Wait()
}

// params are the members of a request's params that a server reads.
type params struct {
	Meta            map[string]json.RawMessage `json:"_meta"`
	ProtocolVersion string                     `json:"protocolVersion"`
	Capabilities    map[string]json.RawMessage `json:"capabilities"`
	Name            string                     `json:"name"`
	URI             string                     `json:"uri"`
	Level           string                     `json:"level"`
	Cursor          *string                    `json:"cursor"`
	Arguments       json.RawMessage            `json:"arguments"`
	Ref             struct {
		Type, Name, URI string
	} `json:"ref"`
	Argument struct {
		Name, Value string
	} `json:"argument"`
	Context struct {
		Arguments map[string]string
	} `json:"context"`
	Notifications  json.RawMessage            `json:"notifications"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	RequestState   string                     `json:"requestState"`
}

// Handle implements jsonrpc.Handler.
func (s *Session) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var p params
	if req.Params != nil {
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return refuse(jsonrpc.CodeInvalidParams, "reading params: %v", err), nil
		}
	}
	var result any
	var err error
	version, modern := s.modern(&p)
	if modern {
		result, err = s.handleModern(ctx, from, req.Method, version, &p)
	} else {
		result, err = s.handleLegacy(ctx, from, req.Method, &p)
	}
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return &jsonrpc.Response{Err: wire}, nil
	case err != nil:
		return nil, err
	}
	return &jsonrpc.Response{Result: encode(result)}, nil
}

// HandleNotification implements jsonrpc.Handler. A legacy client sends
// initialized and roots/list_changed; neither affects an answer.
func (s *Session) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func refuse(code int64, format string, args ...any) *jsonrpc.Response {
	return &jsonrpc.Response{Err: jsonrpc.Errorf(code, format, args...)}
}

// encode writes JSON without HTML escapes.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("mcpserver: a result cannot be encoded: " + err.Error())
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
