package mcptest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
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

// Version is the negotiated protocol version, "" before initialize.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Close ends the session and waits for what it started.
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

// HandleNotification implements jsonrpc.Handler. A legacy client says
// initialized and roots/list_changed; neither changes an answer.
func (s *Session) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// features answers the methods that both eras have.
func (s *Session) features(ctx context.Context, c *Call, method string) (any, error) {
	switch method {
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodPromptsList:
		return s.list(method, c.params.Cursor)
	case mcp.MethodToolsCall:
		return s.callTool(ctx, c)
	case mcp.MethodResourcesRead:
		return s.read(ctx, c)
	case mcp.MethodPromptsGet:
		return s.prompt(ctx, c)
	case mcp.MethodComplete:
		return s.complete(c.params)
	}
	if f := s.server.extensionMethod(method); f != nil {
		return f(ctx, c)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", method)
}

func (s *Session) list(method string, cursor *string) (any, error) {
	sv := s.server
	sv.mu.Lock()
	defer sv.mu.Unlock()
	var name string
	var items []json.RawMessage
	switch method {
	case mcp.MethodToolsList:
		name, items = "tools", definitions(sv.tools, func(t Tool) string { return t.Definition })
	case mcp.MethodResourcesList:
		name, items = "resources", definitions(sv.resources, func(r Resource) string { return r.Definition })
	case mcp.MethodTemplatesList:
		name, items = "resourceTemplates", definitions(sv.templates, func(t Template) string { return t.Definition })
	default:
		name, items = "prompts", definitions(sv.prompts, func(p Prompt) string { return p.Definition })
	}
	page, next, err := paginate(items, cursor, sv.PageSize)
	if err != nil {
		return nil, err
	}
	result := map[string]any{name: page}
	if next != "" {
		result["nextCursor"] = next
	}
	return result, nil
}

func definitions[T any](features []T, definition func(T) string) []json.RawMessage {
	list := make([]json.RawMessage, len(features))
	for i, f := range features {
		list[i] = json.RawMessage(definition(f))
	}
	return list
}

func paginate(items []json.RawMessage, cursor *string, size int) (page []json.RawMessage, next string, err error) {
	start := 0
	if cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*cursor)
		if err == nil {
			start, err = strconv.Atoi(string(raw))
		}
		if err != nil || start < 0 || start > len(items) {
			return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "invalid cursor: %s", *cursor)
		}
	}
	end := len(items)
	if size > 0 && start+size < end {
		end = start + size
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	}
	return items[start:end], next, nil
}

func refuse(code int64, format string, args ...any) *jsonrpc.Response {
	return &jsonrpc.Response{Err: jsonrpc.Errorf(code, format, args...)}
}

// encode writes JSON without escaping what needs no escape.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("mcptest: a result cannot be encoded: " + err.Error())
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
