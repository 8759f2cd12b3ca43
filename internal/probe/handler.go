package probe

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Handle answers a question that the transport could not assign to a call: it
// is assigned to the newest call in flight.
func (s *Session) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if s.passTo != nil {
		return passing{s.passTo}.Handle(ctx, from, req)
	}
	return s.questions.asked(ctx, s.calls.newest(), req)
}

// HandleNotification handles notifications of the server.
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
		s.subscriptions.acknowledged()
	case mcp.NotificationTools:
		s.tools.Store(nil)
	}
	if s.opt.OnNotification != nil {
		s.opt.OnNotification(n.Method, params)
	}
}

// back answers the questions of the server on the stream of one call.
type back struct {
	s *Session
	r *running
}

func (b back) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return b.s.questions.asked(ctx, b.r, req)
}

func (b back) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	b.r.touch()
	b.s.hear(n)
}

// questions holds which questions the server may ask, and their answerer.
type questions struct {
	offer    mcp.Offer
	answerer Answerer
	roots    atomic.Pointer[[]config.Root]
}

// asked answers one question, on behalf of r if the call is known.
func (q *questions) asked(ctx context.Context, r *running, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch {
	case req.Method == mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case !q.offer.Allows(req.Method, req.Params):
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s was not offered", req.Method)}, nil
	}
	ctx, stop := r.during(ctx)
	defer stop()
	defer r.ask()()
	result, err := q.answer(ctx, r, req)
	if err == nil {
		return &jsonrpc.Response{Result: result}, nil
	}
	var pending *PendingError
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &pending):
		r.cancelWith(pending)
		return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "no person is there to answer")}, nil
	case errors.As(err, &wire):
		return &jsonrpc.Response{Err: wire}, nil
	}
	return nil, err
}

func (q *questions) answer(ctx context.Context, r *running, req *jsonrpc.Request) (json.RawMessage, error) {
	question := &Question{Method: req.Method, Params: append([]byte(nil), req.Params...)}
	if r != nil {
		question.Name = r.name
	}
	if question.Method == mcp.MethodRootsList {
		if script, ok := q.answerer.(*Script); !ok || script.Values["roots"] == nil {
			return q.rootsResult(), nil
		}
	}
	if q.answerer == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", question.Method)
	}
	return q.answerer.Answer(ctx, question)
}

func (q *questions) rootsResult() json.RawMessage {
	return Encode(map[string]any{"roots": append([]config.Root{}, *q.roots.Load()...)})
}

// nextRound answers all questions of a modern server and returns the params of
// the repeated call.
func (q *questions) nextRound(ctx context.Context, r *running, x *Exchange) (json.RawMessage, error) {
	asked := jsonrpc.Get(x.Result, "inputRequests")
	params := x.Params
	if state := jsonrpc.Get(x.Result, "requestState"); state != nil {
		params = jsonrpc.Set(params, state, "requestState")
	}
	if asked == nil {
		return params, nil
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		failed  error
		answers = []byte(`{}`)
	)
	for key, one := range jsonrpc.Members(asked) {
		method, _ := jsonrpc.GetString(one, "method")
		req := &jsonrpc.Request{Method: method, Params: jsonrpc.Get(one, "params")}
		wg.Go(func() {
			resp, err := q.asked(ctx, r, req)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = err
			case resp.Err != nil:
				// A modern answer cannot be an error, so the call ends here.
				failed = i18n.Errorf("the question %s was refused: %w", "问题 %s 被拒绝：%w", method, resp.Err)
			default:
				answers = jsonrpc.Set(answers, resp.Result, key)
			}
		})
	}
	wg.Wait()
	return jsonrpc.Set(params, answers, "inputResponses"), failed
}
