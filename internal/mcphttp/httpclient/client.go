// Package httpclient is the client of MCP over HTTP: streamable HTTP of both eras,
// and legacy HTTP+SSE.
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
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

const (
	defaultMaxMessage = 16 << 20
	farewellTime      = 5 * time.Second // for DELETE and notifications/cancelled
)

// ClientOptions configure a Client.
type ClientOptions struct {
	// URL is the server's one endpoint.
	URL string
	// Header is sent with every request, except for headers that the protocol or the
	// connection sets.
	Header http.Header
	// Transport sends the requests; nil means a new ClientTransport. It must not
	// follow redirects.
	Transport http.RoundTripper
	// Handler handles the server's messages outside any call, and during a
	// call without Back. It may be nil.
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
	// OnDown is called when the server can no longer be reached or has lost
	// our session. It may be nil and must not call Close.
	OnDown func(error)
}

// A Client is the Peer for a server that speaks streamable HTTP.
type Client struct {
	opt     ClientOptions
	server  endpoint
	own     *ClientTransport // the endpoint's transport, if it is not the caller's
	flights flights
	ids     atomic.Uint64 // the last id of a call
	asked   inbound

	probing   atomic.Bool
	streaming atomic.Bool
	listening chan struct{} // closed when the stream has been opened or refused for the first time
}

// NewClient returns a Client. It sends nothing yet.
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
		return nil, i18n.Errorf("reading the server's URL: %w", "解析服务器的 URL 失败：%w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, i18n.Errorf("the server's URL %q is not an http or https URL", "服务器的 URL %q 不是 http 或 https 地址", u.Redacted())
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

// SetVersion sets the protocol version of all later requests.
func (c *Client) SetVersion(v string) { c.server.setState(c.SessionID(), v) }

// SessionID returns the session id from the server; "" if there is none.
func (c *Client) SessionID() string { return c.server.state.Load().session }

// Call sends a request and waits for its response.
//
// If the server answers with a JSON-RPC error and a status of 4xx, both results are
// set: the error is a *StatusError, and Response.Err is the error in the body.
func (c *Client) Call(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	f, err := c.flights.enter(ctx, c.ids.Add(1))
	if err != nil {
		return nil, err
	}
	if b, ok := req.Back.(duplex.Abortable); ok {
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

// Abort ends a call with an error and tells the server, unless the response has
// already arrived.
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

// abandon tells a legacy server that the response is no longer needed. A modern
// server sees that from the closed connection.
func (c *Client) abandon(ctx context.Context, id uint64, method string, cause error) {
	if c.opt.Modern || method == mcp.MethodInitialize {
		return
	}
	params := fmt.Appendf(nil, `{"requestId":%d,"reason":%s}`, id, jsonrpc.Quote(cause.Error()))
	msg := jsonrpc.AppendNotification(nil, mcp.NotificationCancelled, params)
	c.flights.track(func() { // Close waits for this: the server may block the DELETE until the call has ended
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		if err := c.server.deliver(ctx, c.server.state.Load().header, msg); err != nil {
			c.opt.Log.Debug("cancellation not delivered", "method", method, "err", err)
		}
	})
}

// Close ends every call and stream with jsonrpc.ErrClosed, waits for our
// goroutines, and ends the session with a DELETE.
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
