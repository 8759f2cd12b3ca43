package httpclient

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

const (
	retryFloor = 500 * time.Millisecond
	retryCap   = 30 * time.Second
	maxResumes = 5
	// goneAfter is how long an unreachable server may take to come back before
	// its stream is given up.
	goneAfter = 2500 * time.Millisecond
)

// A position is the event after which a broken stream continues, and the wait
// before that.
type position struct {
	id    string
	retry time.Duration
}

func (p *position) note(ev *sse.Event) {
	if ev.HasID {
		p.id = ev.ID
	}
	if ev.Retry > 0 {
		p.retry = ev.Retry
	}
}

// delay returns how long to wait before a stream is opened again after a number of
// failures: the server's retry time or a growing time, whichever is longer, and at
// least retryFloor.
func (p *position) delay(failures int) time.Duration {
	d := max(p.retry, retryFloor)
	if failures > 0 {
		d = max(d, min(retryFloor<<min(failures, 10), retryCap))
	}
	return d + rand.N(d/10+1)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stream reads the response from an event stream, and from the streams that
// continue it.
func (x *exchange) stream(ctx context.Context, body io.ReadCloser) (*jsonrpc.Response, error) {
	in := x.c.newInbox(x.req.Back)
	var pos position
	for {
		resp, err := x.readStream(ctx, x.c.watch(ctx, body), in, &pos)
		if err == nil {
			return resp, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if err != io.EOF && !brokenStream(err) {
			return nil, err
		}
		if x.c.opt.Modern || pos.id == "" {
			return nil, i18n.Errorf("%w: %w", "%w：%w", ErrStreamEnded, err)
		}
		if body, err = x.c.server.resume(ctx, &pos); err != nil {
			return nil, err
		}
	}
}

// brokenStream reports whether a stream was cut off, rather than carrying invalid
// data.
func brokenStream(err error) bool {
	var limit *sse.LimitError
	return !errors.As(err, &limit) && !errors.Is(err, jsonrpc.ErrTooLarge) && !errors.Is(err, jsonrpc.ErrBadAnswer)
}

// readStream reads one event stream up to the response.
func (x *exchange) readStream(ctx context.Context, body io.ReadCloser, in *inbox, pos *position) (*jsonrpc.Response, error) {
	buf := newAnswerBuffer(0)
	er := sse.NewEventReader(body, x.c.opt.MaxMessage)
	er.Buf, er.Grow = buf.b, buf.grow
	for {
		ev, err := er.Next()
		if err != nil {
			body.Close()
			buf.free()
			return nil, tooLarge(err)
		}
		pos.note(&ev)
		if len(ev.Data) == 0 || (ev.Name != "" && ev.Name != "message") {
			continue
		}
		resp, err := x.consider(ctx, ev.Data, buf, in)
		if err != nil {
			body.Close()
			buf.free()
			return nil, err
		}
		if resp == nil {
			continue
		}
		buf.b = er.Buf // the result is in it
		if er.Err != nil {
			body.Close()
		} else {
			x.rest = body
		}
		return resp, nil
	}
}

// consider returns the response if data is the one to our request, and passes any
// other message on. It returns an error if our response is invalid.
func (x *exchange) consider(ctx context.Context, data []byte, buf *answerBuffer, in *inbox) (*jsonrpc.Response, error) {
	// Clip: the buffer may hold the next event behind data.
	if id, result, ok := jsonrpc.PeekAnswer(slices.Clip(data)); ok && id == x.id {
		return jsonrpc.NewResponse(result, buf.free), nil
	}
	msg, bad := jsonrpc.ScanAnswer(data, nil)
	if bad != nil && x.isOurs(msg.ID) {
		return nil, &AnswerError{Reason: i18n.New("the answer cannot be read: %s", "无法读取应答：%s", bad.Message)}
	}
	if bad != nil {
		x.c.opt.Log.Warn("event dropped", "method", x.req.Method, "err", bad.Message)
		return nil, nil
	}
	if resp := x.outcome(&msg, buf); resp != nil {
		return resp, nil
	}
	in.take(ctx, &msg)
	return nil, nil
}

// resume continues a stream after its last event.
func (e *endpoint) resume(ctx context.Context, pos *position) (io.ReadCloser, error) {
	begun := time.Now()
	wait := pos.delay(0)
	for failures := 1; ; failures++ {
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		body, err := e.get(ctx, pos.id)
		if err == nil {
			return body, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		wait = pos.delay(failures)
		gone := !answered(err) && time.Since(begun)+wait > goneAfter
		if failures >= maxResumes || gone || !worthAnotherTry(err) {
			// Not wrapped: the refusal of this GET says nothing about the original
			// request, which has reached the server.
			return nil, i18n.Errorf("%w: resuming it: %v", "%w：恢复失败：%v", ErrStreamEnded, err)
		}
	}
}

// answered reports whether the error is a response of the server.
func answered(err error) bool {
	var status *StatusError
	return errors.As(err, &status)
}

func worthAnotherTry(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status == http.StatusTooManyRequests || status.Status >= 500 && status.Status != http.StatusNotImplemented
	}
	var answer *AnswerError
	return !errors.As(err, &answer)
}

// get opens an event stream, after the event with the given id if there is one.
func (e *endpoint) get(ctx context.Context, lastEvent string) (io.ReadCloser, error) {
	header := maps.Clone(e.state.Load().header)
	delete(header, "Content-Type")
	header["Accept"] = []string{"text/event-stream"}
	if lastEvent != "" {
		header[mcp.HeaderLastEvent] = []string{lastEvent}
	}
	resp, err := e.rt.RoundTrip(e.request(ctx, http.MethodGet, header, nil))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, newStatusError(resp)
	}
	if ct := resp.Header.Get("Content-Type"); mediaType(ct) != "text/event-stream" || resp.Header.Get("Content-Encoding") != "" {
		resp.Body.Close()
		return nil, &AnswerError{Reason: i18n.New("the answer is not an event stream", "应答不是事件流"), ContentType: ct}
	}
	return resp.Body, nil
}
