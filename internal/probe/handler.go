package probe

import (
	"context"
	"encoding/json"
	"errors"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Handle answers a question that the transport could not tie to a call: it
// counts for the newest one in flight.
func (s *Session) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if s.passTo != nil {
		return passing{s.passTo}.Handle(ctx, from, req)
	}
	return s.asked(ctx, s.calls.newest(), req)
}

// HandleNotification hears what the server says.
func (s *Session) HandleNotification(ctx context.Context, from jsonrpc.Peer, n *jsonrpc.Notification) {
	if s.passTo != nil {
		passing{s.passTo}.HandleNotification(ctx, from, n)
		return
	}
	s.hear(n)
}

func (s *Session) hear(n *jsonrpc.Notification) {
	params := json.RawMessage(append([]byte(nil), n.Params...))
	switch n.Method {
	case mcp.NotificationProgress:
		if r := s.calls.byToken(jsonrpc.Get(params, "progressToken")); r != nil {
			r.progressed(params)
		}
	case mcp.NotificationListening:
		s.heard.acknowledged(params)
	case mcp.NotificationTools:
		s.tools.Store(nil)
	}
	if s.opt.OnNotification != nil {
		s.opt.OnNotification(n.Method, params)
	}
}

// asked answers one question, on behalf of r where that is known.
func (s *Session) asked(ctx context.Context, r *running, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch {
	case req.Method == mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case !s.offer.Allows(req.Method, req.Params):
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s was not offered", req.Method)}, nil
	}
	ctx, stop := r.during(ctx)
	defer stop()
	defer r.ask()()
	result, err := s.answer(ctx, r, req)
	if err == nil {
		return &jsonrpc.Response{Result: result}, nil
	}
	var pending *PendingError
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &pending):
		r.cancelWith(pending)
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "nobody is there to answer")}, nil
	case errors.As(err, &wire):
		return &jsonrpc.Response{Err: wire}, nil
	}
	return nil, err
}

func (s *Session) answer(ctx context.Context, r *running, req *jsonrpc.Request) (json.RawMessage, error) {
	q := &Question{Method: req.Method, Params: append([]byte(nil), req.Params...)}
	if r != nil {
		q.Call, q.Name = r.method, r.name
	}
	if q.Method == mcp.MethodRootsList {
		if script, ok := s.opt.Answer.(*Script); !ok || script.Values["roots"] == nil {
			return s.rootsResult(), nil
		}
	}
	if s.opt.Answer == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", q.Method)
	}
	return s.opt.Answer.Answer(ctx, q)
}

func (s *Session) rootsResult() json.RawMessage {
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name,omitempty"`
	}
	roots := []root{}
	s.mu.Lock()
	for _, r := range s.roots {
		roots = append(roots, root(r))
	}
	s.mu.Unlock()
	raw, err := json.Marshal(map[string]any{"roots": roots})
	if err != nil {
		panic(err) // strings
	}
	return raw
}

// back answers what the server asks on the stream of one call.
type back struct {
	s *Session
	r *running
}

func (b back) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return b.s.asked(ctx, b.r, req)
}

func (b back) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	b.r.touch()
	b.s.hear(n)
}
