package probe

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
)

// CallOptions are the limits of one call.
type CallOptions struct {
	// Idle ends a call if the server sends nothing for that long. Progress
	// restarts the timer, and it is stopped while a question is open. Limit
	// ends the call in any case. Zero means no limit.
	Idle, Limit time.Duration
	// Silence returns the error that ends a call after Idle; nil for ErrIdle.
	Silence func() error
	// OnProgress receives the progress of this call; setting it requests
	// progress.
	OnProgress func(p Progress)
}

// Progress is one notification about a call.
type Progress struct {
	Progress float64 `json:"progress"`
	// Total is zero if the server did not send it.
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// An Exchange is one call with all that is known about it.
type Exchange struct {
	Method string
	// Params are the params as sent.
	Params json.RawMessage
	// Exactly one of Result and Err is set.
	Result json.RawMessage
	Err    *jsonrpc.Error
	Timing Timing
	Wire   []Frame
	// Notices counts the progress notifications, Rounds the answers of a modern
	// server that contain questions.
	Notices, Rounds int
	// Record is the entry in the gateway's record; 0 if there is none.
	Record uint64
}

// Failure returns the error that the server answered, or nil.
func (x *Exchange) Failure() error {
	if x.Err != nil {
		return x.Err
	}
	return nil
}

// IsToolError reports whether the tool itself failed.
func (x *Exchange) IsToolError() bool { return mcp.IsToolError(x.Result) }

// MaxRounds limits how often a modern server may answer one call with
// questions.
const MaxRounds = 32

// Call sends one request and waits for its outcome. An error that the server
// answered is in the Exchange. Call returns the Exchange with an error too: it
// holds the frames up to then.
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage, opt CallOptions) (*Exchange, error) {
	if err := s.prepareHeaders(ctx, method); err != nil {
		return nil, err
	}
	ctx, r := s.calls.begin(ctx, params, opt)
	defer s.calls.end(r)
	x, err := s.call(ctx, r, method, params)
	if s.opt.Record != nil {
		x.Record = s.opt.Record(s, x, r.began, err)
	}
	return x, err
}

func (s *Session) call(ctx context.Context, r *running, method string, params json.RawMessage) (*Exchange, error) {
	params = r.withToken(params)
	if s.info.Era == mcp.Modern {
		params = s.identity.withMeta(params, s.info.Version)
	}
	mark := s.link.tap.mark()
	x := &Exchange{Method: method, Params: params}
	err := s.exchange(ctx, r, x)
	r.stop()
	x.Wire = ownFrames(s.link.tap.since(mark), r.id, method, params)
	if s.opt.Measure != nil {
		if m, ok := s.opt.Measure(method, r.began); ok {
			r.measure(m)
			x.Record = m.Record
		}
	}
	x.Timing = r.timing()
	x.Notices = r.notices()
	cause := context.Cause(ctx)
	if cause != nil && (err != nil || errors.As(cause, new(*PendingError))) {
		if err != nil {
			signal(s.link.part.due)
		}
		// The server's reaction to an unanswered question is not the outcome.
		return x, cause
	}
	return x, err
}

func (s *Session) exchange(ctx context.Context, r *running, x *Exchange) error {
	params := x.Params
	for {
		resp, err := s.link.peer.Call(ctx, &jsonrpc.Request{Method: x.Method, Params: params, Back: back{s, r}, Trip: &r.trip})
		if errors.As(err, new(*httpclient.StatusError)) && resp != nil {
			err = nil // the body is an answer
		}
		if err != nil {
			return err
		}
		if resp.Err != nil {
			x.Err = resp.Err
			return nil
		}
		x.Result = append(json.RawMessage(nil), resp.Result...)
		resp.Release()
		if s.info.Era != mcp.Modern || !IsInputRequired(x.Result) {
			return nil
		}
		if x.Rounds++; x.Rounds > MaxRounds {
			return i18n.Errorf("the server asked more than %d rounds of questions for one call", "服务器在一次调用中提问超过 %d 轮", MaxRounds)
		}
		if params, err = s.questions.nextRound(ctx, r, x); err != nil || x.Err != nil {
			return err
		}
	}
}

func IsInputRequired(result []byte) bool {
	kind, _ := jsonrpc.GetString(result, "resultType")
	return kind == "input_required"
}

// prepareHeaders lists the tools before a tool is called, because a modern HTTP
// server expects some arguments to be repeated in headers.
func (s *Session) prepareHeaders(ctx context.Context, method string) error {
	if method != mcp.MethodToolsCall || s.info.Era != mcp.Modern || s.link.client == nil || s.tools.Load() != nil {
		return nil
	}
	_, err := s.List(ctx, catalog.Tools)
	return err
}
