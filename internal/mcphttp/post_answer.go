package mcphttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

var typeJSON = []string{"application/json"}

const (
	// joined: responses up to this size are copied into one write; above it several
	// writes are cheaper than the copy.
	joined = 64 << 10
	// envelope is the size of the JSON around a result, and some more.
	envelope = 64
	// measured: up to this size net/http sets Content-Length itself.
	measured = 2 << 10
)

// run calls the handler and returns the response, also for an error or a panic; nil
// means that the client cancelled the request.
func run(ctx context.Context, log *slog.Logger, h Session, from jsonrpc.Peer, m *jsonrpc.Message) (resp *jsonrpc.Response) {
	defer func() {
		if v := recover(); v != nil {
			resp = panicked(log, m.Method, v)
		}
	}()
	resp, err := h.Handle(ctx, from, &jsonrpc.Request{Method: m.Method, Params: m.Params, ID: m.ID})
	return outcome(ctx, log, m.Method, resp, err)
}

// panicked returns the response after a handler panic.
func panicked(log *slog.Logger, method string, v any) *jsonrpc.Response {
	log.Error("handler panicked", "method", method, "err", v, "stack", string(debug.Stack()))
	return &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")}
}

// outcome returns the response for what a handler returned.
func outcome(ctx context.Context, log *slog.Logger, method string, resp *jsonrpc.Response, err error) *jsonrpc.Response {
	switch {
	case ctx.Err() != nil && resp == nil:
		return ended(ctx, refusal(err))
	case ctx.Err() != nil:
		return ended(ctx, resp)
	case err == nil && resp != nil:
		return resp
	}
	return &jsonrpc.Response{Err: wireError(log, method, err)}
}

// refusal returns the response for a *jsonrpc.Error; nil for other errors.
func refusal(err error) *jsonrpc.Response {
	if wire := new(jsonrpc.Error); errors.As(err, &wire) {
		return &jsonrpc.Response{Err: wire}
	}
	return nil
}

// wireError returns the error that the client gets for a handler's error.
func wireError(log *slog.Logger, method string, err error) *jsonrpc.Error {
	if wire := new(jsonrpc.Error); errors.As(err, &wire) {
		return wire
	}
	log.Error("handler failed", "method", method, "err", err)
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
}

// ended returns the response to a request whose context ended before its handler
// returned resp.
func ended(ctx context.Context, resp *jsonrpc.Response) *jsonrpc.Response {
	why := context.Cause(ctx)
	switch {
	case errors.Is(why, jsonrpc.ErrCancelled):
		resp.Release()
		return nil
	case resp != nil:
		return resp
	case errors.Is(why, mcp.CutShort):
		return &jsonrpc.Response{Err: mcp.CutShort}
	}
	return &jsonrpc.Response{Err: mcp.Failure(mcp.Cancelled, "", "cancelled: "+why.Error())}
}

// answer sends the response of this POST. nil means that the client cancelled the
// request: a stream ends without a response, but plain HTTP needs one.
func (a *reply) answer(id []byte, resp *jsonrpc.Response) {
	defer resp.Release()
	st := a.endMessages()
	switch {
	case st != nil && resp != nil:
		msg := jsonrpc.AppendResponse(nil, id, resp)
		resp.Release() // the client may take long to read
		a.finish(st, msg)
	case st != nil:
		a.finish(st, nil)
	case resp != nil:
		a.writeResponse(a.status(resp), id, resp)
	default:
		a.fail(http.StatusOK, id, mcp.Failure(mcp.Cancelled, "", "the client cancelled the request"))
	}
}

// endMessages ends the messages before the response, and returns the stream that the
// response goes to; nil if it is plain JSON.
func (a *reply) endMessages() *stream {
	if !a.accept.json {
		a.upgrade()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a.stream
}

// finish ends the stream with a last message, nil for none.
func (a *reply) finish(st *stream, msg []byte) {
	if msg != nil {
		st.append(sse.OneLine(msg), &a.srv.lim)
	}
	st.finish()
	<-a.pumped
}

// status returns the HTTP status of a handler's response. Some clients of legacy
// sessions drop the session on anything but 200.
func (a *reply) status(resp *jsonrpc.Response) int {
	if resp.Err == nil || !a.modern {
		return http.StatusOK
	}
	switch resp.Err.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParse,
		mcp.CodeHeaderMismatch, mcp.CodeCapabilityMissing, mcp.CodeVersionUnsupported:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// fail sends an error response.
func (a *reply) fail(status int, id []byte, e *jsonrpc.Error) {
	a.writeResponse(status, id, &jsonrpc.Response{Err: e})
}

var resultFirst = []byte(`{"jsonrpc":"2.0","result":`)

// idLast returns the JSON after a result.
func idLast(id []byte) []byte { return append(append([]byte(`,"id":`), id...), '}') }

// writeResponse writes a JSON response with as few writes and copies as its size
// allows.
func (a *reply) writeResponse(status int, id []byte, resp *jsonrpc.Response) {
	if resp.Err == nil && len(resp.Result) > joined {
		a.writeJSON(status, resultFirst, resp.Result, idLast(id))
		return
	}
	out := buffers.get(int64(len(resp.Result) + len(id) + envelope))
	*out = jsonrpc.AppendResponse(*out, id, resp)
	a.writeJSON(status, *out)
	buffers.put(out)
}

// writeJSON writes the concatenation of parts as the whole response.
func (a *reply) writeJSON(status int, parts ...[]byte) {
	h, n := a.w.Header(), 0
	for _, part := range parts {
		n += len(part)
	}
	h["Content-Type"] = typeJSON
	if n > measured {
		h["Content-Length"] = []string{strconv.Itoa(n)}
	}
	unread := a.srv.lim.unread(a.principal, n)
	defer unread.Done()
	rc := http.NewResponseController(a.w)
	rc.SetWriteDeadline(time.Now().Add(a.srv.lim.WriteIdle))
	a.w.WriteHeader(status)
	for _, part := range parts {
		for len(part) > 0 {
			step := part[:min(len(part), 4*writeStep)]
			if _, err := a.w.Write(step); err != nil {
				return // the client has disconnected
			}
			unread.Moved()
			if part = part[len(step):]; len(part) > 0 {
				rc.SetWriteDeadline(time.Now().Add(a.srv.lim.WriteIdle))
			}
		}
	}
}
