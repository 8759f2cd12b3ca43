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

// CallOptions bound one call.
type CallOptions struct {
	// Idle ends a call whose server is silent that long; progress renews it,
	// and it stands still while a question is open. Limit ends it in any case.
	// Zero is no limit.
	Idle, Limit time.Duration
	// OnProgress hears the progress of this call and asks the server for it.
	OnProgress func(p Progress)
}

// Progress is one notification about a call.
type Progress struct {
	Progress float64 `json:"progress"`
	// Total is zero when the server did not say.
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// An Exchange is one call and everything known about it.
type Exchange struct {
	Method string
	// Params is what was sent.
	Params json.RawMessage
	// Exactly one of Result and Err is set.
	Result json.RawMessage
	Err    *jsonrpc.Error
	// Status is the HTTP status that came with an error; 0 elsewhere.
	Status int
	Timing Timing
	Wire   []Frame
	// Notices counts the progress notifications, Rounds how often a modern
	// server asked.
	Notices, Rounds int
	// Record is the entry in the record of the gateway, 0 when there is none.
	Record uint64
}

// Failure is the error that the server answered, or nil.
func (x *Exchange) Failure() error {
	if x.Err != nil {
		return x.Err
	}
	return nil
}

// IsToolError says that the tool itself failed.
func (x *Exchange) IsToolError() bool { return mcp.IsToolError(x.Result) }

// maxRounds bounds how often a modern server may answer one call with
// questions.
const MaxRounds = 32

// Call sends one request and waits for its one outcome. An error that the
// server answered is in the Exchange, which is returned beside an error too:
// it holds what went over the wire until then.
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage, opt CallOptions) (*Exchange, error) {
	if err := s.prepareHeaders(ctx, method); err != nil {
		return nil, err
	}
	ctx, r := s.calls.begin(ctx, method, params, opt)
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
	var pending *PendingError
	if cause != nil && (err != nil || errors.As(cause, &pending)) {
		if err != nil {
			signal(s.link.part.due)
		}
		// What a server says because nobody answered it is not the outcome.
		return x, cause
	}
	return x, err
}

func (s *Session) exchange(ctx context.Context, r *running, x *Exchange) error {
	params := x.Params
	for {
		resp, err := s.link.peer.Call(ctx, &jsonrpc.Request{Method: x.Method, Params: params, Back: back{s, r}, Trip: &r.trip})
		var status *httpclient.StatusError
		if errors.As(err, &status) && resp != nil {
			x.Status, err = status.Status, nil // the body was an answer
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
			return i18n.Errorf("the server asked more than %d rounds of questions for one call", "服务在一次调用中提问超过 %d 轮", MaxRounds)
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

// prepareHeaders makes sure that the arguments which a modern HTTP server
// wants repeated in headers are known before a tool is called.
func (s *Session) prepareHeaders(ctx context.Context, method string) error {
	if method != mcp.MethodToolsCall || s.info.Era != mcp.Modern || s.link.client == nil || s.tools.Load() != nil {
		return nil
	}
	_, err := s.List(ctx, catalog.Tools)
	return err
}
