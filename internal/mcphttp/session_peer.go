package mcphttp

import (
	"context"
	"strconv"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

var (
	errNoStream  = i18n.Errorf("the client cannot be asked: it accepts no text/event-stream", "无法询问客户端：它不接受 text/event-stream")
	errStateless = i18n.Errorf("the client cannot be asked: it has no session", "无法询问客户端：它没有会话")
)

// Notify sends a notification to the client outside any call. It is queued until a
// stream is open.
func (ss *session) Notify(_ context.Context, n *jsonrpc.Notification) error {
	return ss.say(jsonrpc.AppendNotification(nil, n.Method, n.Params))
}

// Call sends a request to the client outside any call.
func (ss *session) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	return ss.ask(ctx, req, ss.say)
}

func (ss *session) say(msg []byte) error {
	if ss.ctx.Err() != nil {
		return jsonrpc.ErrClosed
	}
	if n := ss.out.push(sse.OneLine(msg), &ss.srv.lim); n > 0 {
		ss.srv.dropped.Add(int64(n))
		ss.journal.cutReaders()
	}
	return nil
}

// ask sends a request to the client with say and waits for the response, which the
// client sends in another POST.
func (ss *session) ask(ctx context.Context, req *jsonrpc.Request, say func([]byte) error) (*jsonrpc.Response, error) {
	answer := make(chan *jsonrpc.Response, 1)
	ss.mu.Lock()
	ss.lastID++
	id := ss.lastID
	if ss.asked == nil {
		ss.asked = make(map[uint64]chan *jsonrpc.Response)
	}
	ss.asked[id] = answer
	ss.mu.Unlock()
	defer func() {
		ss.mu.Lock()
		delete(ss.asked, id)
		ss.mu.Unlock()
	}()
	raw := strconv.AppendUint(nil, id, 10)
	if err := say(jsonrpc.AppendRequest(nil, raw, req.Method, req.Params)); err != nil {
		return nil, err
	}
	select {
	case resp := <-answer:
		return resp, nil
	case <-ss.ctx.Done():
		return nil, jsonrpc.ErrClosed
	case <-ctx.Done():
		params := append(append([]byte(`{"requestId":`), raw...), `,"reason":"no longer needed"}`...)
		say(jsonrpc.AppendNotification(nil, mcp.NotificationCancelled, params)) // best effort: the caller does not wait for it
		return nil, context.Cause(ctx)
	}
}

// answered handles a response from the client. If no caller waits for it, it is
// dropped.
func (ss *session) answered(m *jsonrpc.Message) {
	id, ok := jsonrpc.OwnNumber(m.ID)
	ss.mu.Lock()
	answer := ss.asked[id]
	delete(ss.asked, id)
	ss.mu.Unlock()
	if !ok || answer == nil {
		ss.srv.dropped.Add(1)
		return
	}
	if m.Kind == jsonrpc.KindError {
		answer <- &jsonrpc.Response{Err: jsonrpc.ParseError(m.Err)}
		return
	}
	answer <- &jsonrpc.Response{Result: append([]byte(nil), m.Result...)}
}

// deaf is the peer of a client that cannot be reached, because it sent a
// notification outside any session.
type deaf struct{}

func (deaf) Notify(context.Context, *jsonrpc.Notification) error { return errStateless }

func (deaf) Call(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return nil, errStateless
}
