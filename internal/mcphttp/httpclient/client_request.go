package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// newMessageBody returns a body that net/http recognises as memory and sends
// together with the header.
func newMessageBody(msg []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(msg)) }

// An endpoint is the URL of a server, with the data for all requests to it.
type endpoint struct {
	rt           http.RoundTripper
	base         *http.Request
	fixed        http.Header // as configured
	modern       bool
	paramHeaders func(tool string, arguments []byte) http.Header
	state        atomic.Pointer[clientState]
}

// clientState is the result of the handshake, with the headers that follow from it.
// All requests share the header; it is never changed.
type clientState struct {
	session, version string
	header           http.Header
}

func (e *endpoint) setState(session, version string) {
	h := e.fixed.Clone()
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{"application/json, text/event-stream"}
	if session != "" {
		h[mcp.HeaderSession] = []string{session}
	}
	if version != "" {
		h[mcp.HeaderVersion] = []string{version}
	}
	e.state.Store(&clientState{session: session, version: version, header: h})
}

// request copies the prepared request. header is shared and must not change.
func (e *endpoint) request(ctx context.Context, method string, header http.Header, msg []byte) *http.Request {
	r := e.base.WithContext(ctx)
	r.Method = method
	r.Header = header
	if msg != nil {
		r.Body = newMessageBody(msg)
		r.ContentLength = int64(len(msg))
		// For an idle connection that the server closed before the request was
		// written. A POST of which bytes were sent is never sent again.
		r.GetBody = func() (io.ReadCloser, error) { return newMessageBody(msg), nil }
	}
	return r
}

func (e *endpoint) post(ctx context.Context, header http.Header, msg []byte) (*http.Response, error) {
	resp, err := e.rt.RoundTrip(e.request(ctx, http.MethodPost, header, msg))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return resp, nil
}

// deliver posts a message that has no response: a notification or a response.
func (e *endpoint) deliver(ctx context.Context, header http.Header, msg []byte) error {
	resp, err := e.post(ctx, header, msg)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return newStatusError(resp)
	}
	discard(resp.Body)
	return nil
}

// An exchange is one call: the POST and its response, including the streams that
// continue it.
type exchange struct {
	c   *Client
	f   *flight
	req *jsonrpc.Request
	id  uint64
	// rest is a stream that has delivered the response but has not ended yet.
	rest io.ReadCloser
}

// run sends the request and returns its result.
func (x *exchange) run() (*jsonrpc.Response, error) {
	watch, ctx := startWatch(x.f.ctx, x.req.Trip)
	resp, err := x.c.server.post(ctx, x.c.server.headerFor(x.req.Method, x.req.Params), x.message())
	if err != nil {
		watch.stop(false)
		return nil, err
	}
	contentType := resp.Header.Get("Content-Type")
	kind := mediaType(contentType)
	out, err := x.consume(x.f.ctx, resp, kind, contentType)
	watch.stop(kind == "text/event-stream")
	return out, err
}

// consume reads the response. kind is the media type in its contentType.
func (x *exchange) consume(ctx context.Context, resp *http.Response, kind, contentType string) (*jsonrpc.Response, error) {
	c := x.c
	if resp.StatusCode/100 != 2 {
		return x.refused(resp)
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		resp.Body.Close()
		return nil, &AnswerError{Reason: i18n.New("the response is compressed, but compression was not requested", "响应经过压缩，但请求并未要求压缩"), ContentType: encoding}
	}
	if x.req.Method == mcp.MethodInitialize && !c.opt.Modern {
		if err := c.server.openSession(resp.Header.Get(mcp.HeaderSession)); err != nil {
			resp.Body.Close()
			return nil, err
		}
	}
	switch kind {
	case "application/json":
		return x.whole(ctx, resp)
	case "text/event-stream":
		return x.stream(ctx, resp.Body)
	}
	reason := i18n.New("the answer is neither JSON nor an event stream", "应答既不是 JSON，也不是事件流")
	if len(readHead(resp.Body, 512)) == 0 {
		reason = i18n.New("the answer is empty", "应答为空")
	}
	return nil, &AnswerError{Reason: reason, ContentType: contentType}
}

func (x *exchange) message() []byte {
	var digits [20]byte
	msg := make([]byte, 0, len(x.req.Params)+len(x.req.Method)+64)
	return jsonrpc.AppendRequest(msg, strconv.AppendUint(digits[:0], x.id, 10), x.req.Method, x.req.Params)
}

func (e *endpoint) openSession(id string) error {
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e || i > 4<<10 {
			return &AnswerError{Reason: i18n.New("the session id is not usable", "会话 ID 无法使用")}
		}
	}
	e.setState(id, "")
	return nil
}

func (e *endpoint) endSession(ctx context.Context) error {
	if e.modern || e.state.Load().session == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	resp, err := e.rt.RoundTrip(e.request(ctx, http.MethodDelete, e.state.Load().header, nil))
	if err != nil {
		return i18n.Errorf("ending the session: %w", "结束会话失败：%w", err)
	}
	discard(resp.Body)
	return nil
}

const maxDiscard = 64 << 10

// discard reads the short rest of a body, so that its connection can be reused.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDiscard)
	body.Close()
}

func readHead(body io.ReadCloser, limit int64) []byte {
	head, _ := io.ReadAll(io.LimitReader(body, limit))
	body.Close()
	return head
}

// tooLarge replaces a *jsonrpc.FrameError with jsonrpc.ErrTooLarge.
func tooLarge(err error) error {
	if errors.As(err, new(*jsonrpc.FrameError)) {
		return jsonrpc.ErrTooLarge
	}
	return err
}
