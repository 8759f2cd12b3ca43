package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/sse"
)

const postTime = 60 * time.Second

// An sseStream is a legacy HTTP+SSE connection: an event stream and a URL to post
// to.
type sseStream struct {
	c      *Client // used for its prepared requests
	events *sse.EventReader
	body   io.ReadCloser
	post   *url.URL
	ctx    context.Context // context of the stream, for Write, which has none
	cancel context.CancelCauseFunc
	once   sync.Once
}

// DialSSE opens a legacy HTTP+SSE connection. ctx limits only the dialling, not the
// stream.
func DialSSE(ctx context.Context, opt ClientOptions) (jsonrpc.Stream, error) {
	c := NewClient(opt)
	if c.flights.bad != nil {
		return nil, c.flights.bad
	}
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	s := &sseStream{c: c, ctx: inner, cancel: cancel}
	err := s.open()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		if cause := context.Cause(inner); cause != nil {
			err = cause
		}
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *sseStream) open() error {
	body, err := s.c.server.get(s.ctx, "")
	if err != nil {
		return err
	}
	s.body = s.c.watch(s.ctx, body)
	s.events = sse.NewEventReader(s.body, s.c.opt.MaxMessage)
	for {
		ev, err := s.events.Next()
		if err != nil {
			return i18n.Errorf("waiting for the address to post to: %w", "等待消息地址：%w", err)
		}
		if ev.Name == "endpoint" {
			s.post, err = s.endpoint(string(ev.Data))
			return err
		}
	}
}

// endpoint resolves the URL to post to. It must have the same origin, because our
// requests may carry credentials.
func (s *sseStream) endpoint(raw string) (*url.URL, error) {
	base := s.c.server.base.URL
	ref, err := url.Parse(raw)
	if err != nil || ref.User != nil {
		return nil, &AnswerError{Reason: i18n.New("the address to post to is not a URL", "消息地址不是 URL")}
	}
	u := base.ResolveReference(ref)
	if u.Scheme != base.Scheme || u.Host != base.Host {
		return nil, &AnswerError{Reason: i18n.New("the address to post to is of another origin: %s://%s", "消息地址属于其他来源：%s://%s", u.Scheme, u.Host)}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Read returns the next message.
func (s *sseStream) Read() ([]byte, func(), error) {
	for {
		ev, err := s.events.Next()
		if err != nil {
			if cause := context.Cause(s.ctx); cause != nil {
				err = cause
			}
			if errors.Is(err, jsonrpc.ErrClosed) {
				err = io.EOF
			}
			return nil, nil, err
		}
		if len(ev.Data) == 0 || (ev.Name != "" && ev.Name != "message") {
			continue
		}
		s.events.Keep()
		return ev.Data, nil, nil
	}
}

// Write posts one message.
func (s *sseStream) Write(parts ...[]byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, postTime)
	defer cancel()
	header := maps.Clone(s.c.server.state.Load().header)
	r := s.c.server.request(ctx, http.MethodPost, header, bytes.Join(parts, nil))
	r.URL = s.post
	resp, err := s.c.server.rt.RoundTrip(r)
	if err != nil {
		if cause := context.Cause(s.ctx); cause != nil {
			err = cause
		}
		return i18n.Errorf("posting a message: %w", "发送消息失败：%w", err)
	}
	if resp.StatusCode/100 != 2 {
		return newStatusError(resp)
	}
	discard(resp.Body)
	return nil
}

// Close ends the stream.
func (s *sseStream) Close() error {
	s.once.Do(func() {
		s.cancel(jsonrpc.ErrClosed)
		if s.body != nil {
			s.body.Close()
		}
		_ = s.c.Close(s.ctx)
	})
	return nil
}
