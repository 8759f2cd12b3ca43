// Package modern serves clients of the modern era. It turns a server's questions
// into results that the client answers in its next request, keeps the calls that
// wait for these answers, seals the handles that lead back to the calls, and
// translates error codes.
package modern

import (
	"context"
	"errors"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Outcome gives errors the codes of the modern era.
func Outcome(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err != nil {
		if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return nil, Error(wire)
		}
		return nil, err
	}
	if resp.Err != nil {
		resp.Err = Error(resp.Err)
	}
	return resp, nil
}

// A Finish writes a result as the given version has it. It may change the bytes
// of the result if they are owned.
type Finish func(version string, result []byte, owned bool) []byte

// Finished writes a result for the modern era; errors stay as they are.
func Finished(resp *jsonrpc.Response, err error, finish Finish) (*jsonrpc.Response, error) {
	if err == nil && resp.Err == nil {
		resp.Result = finish(mcp.LatestModern, resp.Result, resp.Owned())
	}
	return resp, err
}

// Error gives an error its code of the modern era.
func Error(e *jsonrpc.Error) *jsonrpc.Error {
	switch {
	case e.Code == mcp.CodeResourceNotFound:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: e.Message, Data: e.Data}
	case e.Code > mcp.CodeHeaderMismatch || e.Code < -32099:
		return e
	case e.Code == mcp.CodeHeaderMismatch || e.Code == mcp.CodeCapabilityMissing || e.Code == mcp.CodeVersionUnsupported:
		return e
	}
	// The rest of that range is reserved, so a client would misread a server's
	// own use of it.
	raw := e.Raw
	if raw == nil {
		raw = jsonrpc.AppendError(nil, e)
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", e.Message).WithData(map[string]any{"original": raw})
}

// A Back passes a server's notifications on while a request runs, as far as the
// client asked for them.
type Back struct {
	Level string // lowest level of log messages for the client; empty for none
	From  jsonrpc.Peer
}

func (b Back) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return nil, jsonrpc.MethodNotFound(req.Method, "the client does not offer this")
}

func (b Back) HandleNotification(ctx context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	if n.Method == mcp.NotificationMessage {
		level, _ := jsonrpc.GetString(n.Params, "level")
		if b.Level == "" || !mcp.LevelAtLeast(level, b.Level) {
			return
		}
	}
	b.From.Notify(ctx, n)
}
