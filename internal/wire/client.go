package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"

	"mcp-all-in-one/internal/say"
)

// A Client sends small POST requests without TLS itself, on the caller's
// goroutine, and hands every other one to the transport that it was made with.
//
// The settings of that transport hold for both: its dial function, its proxy,
// how many connections are kept and for how long, how large the header of an
// answer may be. A request is never sent twice: one that fails after a byte
// was written has failed.
type Client struct {
	rest *http.Transport
	pool clientPool
}

// NewClient returns a Client with the settings of rest, which must have a
// DialContext and DisableCompression, and are not to be changed once a request
// was sent.
func NewClient(rest *http.Transport) *Client {
	return &Client{rest: rest}
}

// CloseIdleConnections closes the connections that carry nothing.
func (c *Client) CloseIdleConnections() {
	c.pool.closeIdle()
	c.rest.CloseIdleConnections()
}

// A NotSentError says why no byte of a request was written to the connection
// that was made for it.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "sending the request: " + e.Err.Error() }

// In says it in a language.
func (e *NotSentError) In(l say.Lang) string {
	return say.New("sending the request: %v", "发送请求失败：%v", e.Err).In(l)
}

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// RoundTrip sends one request and returns when the header of the answer is
// here. The end of the request's context ends it at any point, that of the
// body included, with the cause of the context as the error.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	if !c.takes(req) {
		return c.rest.RoundTrip(req)
	}
	in := newClientBuffer()
	if !in.putHead(req) {
		in.free()
		return c.rest.RoundTrip(req)
	}
	err := in.putBody(req)
	if err == nil && req.Context().Err() != nil {
		err = context.Cause(req.Context())
	}
	if err != nil {
		in.free()
		return nil, err
	}
	return c.exchange(req, in)
}

// takes says that a request is of the kind that is sent here; what its header
// says is looked at when it is written.
func (c *Client) takes(req *http.Request) bool {
	if !canPeek || req.Method != http.MethodPost || req.Header == nil || req.URL == nil || req.URL.Scheme != "http" || req.URL.Opaque != "" {
		return false
	}
	// A body that can be had again is in memory: reading it takes no time.
	inMemory := req.ContentLength > 0 && req.GetBody != nil || req.ContentLength == 0 && (req.Body == nil || req.Body == http.NoBody)
	if !inMemory || req.ContentLength > maxRequestBody {
		return false
	}
	if req.Close || len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 {
		return false
	}
	if httptrace.ContextClientTrace(req.Context()) != nil {
		return false
	}
	if c.rest.Proxy != nil {
		if proxy, err := c.rest.Proxy(req); proxy != nil || err != nil {
			return false
		}
	}
	return true
}

// exchange sends the request that stands in the buffer and reads the header of
// its answer.
func (c *Client) exchange(req *http.Request, in *clientBuffer) (*http.Response, error) {
	ctx := req.Context()
	cn, stop, failed := c.send(ctx, dialAddress(req.URL), in.buf)
	if cn == nil {
		in.free()
		return nil, failed
	}
	in.start(cn)
	b := &clientBody{c: c, conn: cn, stop: stop, in: in}
	b.resp.Request = req
	framing, err := in.readHead(&b.resp, c.maxHeader())
	if err == nil {
		framing.keep = framing.keep && failed == nil
		return b.begin(framing), nil
	}
	b.release(false)
	in.free()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case failed != nil: // and there was no answer that would say why
		err = say.Errorf("sending the request: %w", "发送请求失败：%w", failed)
	case errors.Is(err, io.EOF):
		err = say.Errorf("the server closed the connection before its answer: %w", "服务在应答之前关闭了连接：%w", io.ErrUnexpectedEOF)
	default:
		err = say.Errorf("reading the answer: %w", "读取应答失败：%w", err)
	}
	return nil, err
}

// send writes msg to a connection, which the end of ctx closes until stop is
// called. An error beside a connection says that only a part was written: the
// server may have answered and closed before it had read all.
func (c *Client) send(ctx context.Context, addr string, msg []byte) (cn *clientConn, stop func() bool, err error) {
	for {
		cn, kept := c.pool.get(addr, c.rest.IdleConnTimeout), true
		if cn == nil {
			kept = false
			if cn, err = c.dial(ctx, addr); err != nil {
				return nil, nil, err
			}
		}
		if ctx.Done() != nil {
			stop = context.AfterFunc(ctx, cn.end)
		}
		n, err := cn.Write(msg)
		if err == nil || n > 0 {
			return cn, stop, err
		}
		if stop != nil {
			stop()
		}
		cn.Close()
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if !kept {
			return nil, nil, &NotSentError{err}
		}
	}
}

func (c *Client) dial(ctx context.Context, addr string) (*clientConn, error) {
	conn, err := c.rest.DialContext(ctx, "tcp", addr)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return newClientConn(conn, addr), nil
}

const defaultMaxHeader = 10 << 20 // as net/http

func (c *Client) maxHeader() int {
	if n := c.rest.MaxResponseHeaderBytes; n > 0 {
		return int(n)
	}
	return defaultMaxHeader
}
