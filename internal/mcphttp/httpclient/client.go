// Package httpclient is the client of MCP over HTTP: streamable, of both eras, and
// legacy SSE.
package httpclient

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

const (
	defaultMaxMessage = 16 << 20
	farewellTime      = 5 * time.Second // for DELETE and notifications/cancelled
)

// ClientOptions say which server a Client talks to, and how.
type ClientOptions struct {
	// URL is the server's one endpoint.
	URL string
	// Header is sent with every request; what the protocol or the connection
	// owns is left out.
	Header http.Header
	// Transport carries the requests; nil means one of our own. It must not
	// follow redirects.
	Transport http.RoundTripper
	// Handler takes what the server says outside any call, and what it says
	// during a call that has no Back. It may be nil.
	Handler jsonrpc.Handler
	// Modern speaks 2026-07-28: no session, no GET, no DELETE.
	Modern bool
	// ParamHeaders returns the Mcp-Param-* headers of a tool call, with plain
	// values; nil means none.
	ParamHeaders func(tool string, arguments []byte) http.Header
	// MaxMessage limits one message from the server; zero means 16 MiB.
	MaxMessage int64
	// Log may be nil.
	Log *slog.Logger
	// OnDown hears that the server cannot be reached any more, or has
	// forgotten our session. It may be nil and must not call Close.
	OnDown func(error)
}

// A Client is the Peer for a server that speaks streamable HTTP.
type Client struct {
	opt     ClientOptions
	server  endpoint
	own     *ClientTransport // of the endpoint, when it is not the caller's
	flights flights
	ids     atomic.Uint64 // the latest of a call
	asked   inbound

	probing   atomic.Bool
	streaming atomic.Bool
	listening chan struct{} // closed when the stream was opened or refused first
}

// NewClient returns a Client; nothing is sent yet.
func NewClient(opt ClientOptions) *Client {
	if opt.MaxMessage <= 0 {
		opt.MaxMessage = defaultMaxMessage
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{opt: opt, listening: make(chan struct{})}
	e := &c.server
	e.rt, e.modern, e.paramHeaders = opt.Transport, opt.Modern, opt.ParamHeaders
	if e.rt == nil {
		c.own = NewClientTransport()
		e.rt = c.own
	}
	e.fixed = clientHeader(opt.Header)
	e.base, c.flights.bad = baseRequest(opt.URL, opt.Header, e.fixed)
	version := ""
	if opt.Modern {
		version = mcp.LatestModern
	}
	e.setState("", version)
	return c
}

func baseRequest(raw string, configured, fixed http.Header) (*http.Request, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, i18n.Errorf("reading the server's URL: %w", "解析服务的 URL 失败：%w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, i18n.Errorf("the server's URL %q is not an http or https URL", "服务的 URL %q 不是 http 或 https 地址", u.Redacted())
	}
	if u.User != nil && fixed.Get("Authorization") == "" {
		password, _ := u.User.Password()
		r := http.Request{Header: fixed}
		r.SetBasicAuth(u.User.Username(), password)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return &http.Request{
		URL: u, Host: configured.Get("Host"),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// SetVersion sets the protocol version that every later request names.
func (c *Client) SetVersion(v string) { c.server.setState(c.SessionID(), v) }

// SessionID is the id that the server gave this session; "" when it gave none.
func (c *Client) SessionID() string { return c.server.state.Load().session }

// Call sends a request and waits for its answer.
//
// When the server answers a JSON-RPC error with a status of 4xx, both results
// are set: the error is a *StatusError, and Response.Err is what the body said.
func (c *Client) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	f, err := c.flights.enter(ctx, c.ids.Add(1))
	if err != nil {
		return nil, err
	}
	if b, ok := req.Back.(jsonrpc.Abortable); ok {
		b.Began(f.id)
	}
	x := exchange{c: c, f: f, req: req, id: f.id}
	resp, err := x.run()
	cause := c.flights.finish(f, x.rest)
	if err == nil {
		return resp, nil
	}
	if cause == nil {
		cause = context.Cause(ctx)
	}
	if cause != nil {
		c.abandon(ctx, x.id, req.Method, cause)
		err = cause
	}
	return resp, err
}

// Abort ends a call with an error and tells the server, unless its outcome is
// known already.
func (c *Client) Abort(id uint64, err error) { c.flights.abort(id, err) }

// Notify posts a notification and waits until the server has accepted it.
func (c *Client) Notify(ctx context.Context, n *jsonrpc.Notification) error {
	f, err := c.flights.enter(ctx, 0)
	if err != nil {
		return err
	}
	defer c.flights.leave(f)
	return c.server.deliver(f.ctx, c.server.headerFor(n.Method, n.Params), jsonrpc.AppendNotification(nil, n.Method, n.Params))
}

// abandon tells a legacy server that nobody waits for its answer any more. A
// modern server knows it from the closed connection.
func (c *Client) abandon(ctx context.Context, id uint64, method string, cause error) {
	if c.opt.Modern || method == mcp.MethodInitialize {
		return
	}
	params := fmt.Appendf(nil, `{"requestId":%d,"reason":%s}`, id, jsonrpc.Quote(cause.Error()))
	msg := jsonrpc.AppendNotification(nil, mcp.NotificationCancelled, params)
	c.flights.track(func() { // Close lets it finish: the server may hold its DELETE up until the call has ended
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		if err := c.server.deliver(ctx, c.server.state.Load().header, msg); err != nil {
			c.opt.Log.Debug("cancellation not delivered", "method", method, "err", err)
		}
	})
}

// Close ends every call and stream with jsonrpc.ErrClosed, waits for what we
// started, and ends the session with a DELETE.
func (c *Client) Close(ctx context.Context) error {
	if !c.flights.close() {
		return nil
	}
	err := c.server.endSession(ctx)
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return err
}
