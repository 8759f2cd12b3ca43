package http1

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/i18n"
)

// A Transport sends small POST requests itself, on the caller's goroutine, and
// passes every other request to the http.Transport that it was made with. It sends
// requests over TLS itself only if that http.Transport has a DialTLSContext, whose
// connections must speak HTTP/1.1.
//
// The settings of the http.Transport apply to both: its dial function, its proxy,
// how many connections are kept and for how long, how large the header of a
// response may be. A request is never sent twice: if it fails after a byte was
// written, the error is returned.
type Transport struct {
	rest          *http.Transport
	plain, sealed clientPool
}

// NewTransport returns a Transport with the settings of rest. rest must have
// DisableCompression and a DialContext; a DialTLSContext is enough if all requests
// use TLS. rest must not change after the first request.
func NewTransport(rest *http.Transport) *Transport {
	return &Transport{rest: rest}
}

// CloseIdleConnections closes the connections that carry no request.
func (c *Transport) CloseIdleConnections() {
	c.plain.closeIdle()
	c.sealed.closeIdle()
	c.rest.CloseIdleConnections()
}

// A NotSentError is the reason why no byte of a request was written to its new
// connection.
type NotSentError struct{ Err error }

func (e *NotSentError) Error() string { return "sending the request: " + e.Err.Error() }

// In returns the message in a language.
func (e *NotSentError) In(l i18n.Lang) string {
	return i18n.New("sending the request: %v", "发送请求失败：%v", e.Err).In(l)
}

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// RoundTrip sends one request and returns when the header of the response has
// arrived. If the request's context ends, at any point up to the end of the
// response body, the exchange fails with the cause of the context.
func (c *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
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
	return newClientExchange(c, req, in).run()
}

// takes reports whether the Transport sends the request itself. The header is
// checked later, when it is written.
func (c *Transport) takes(req *http.Request) bool {
	if !canTalk || req.Method != http.MethodPost || req.Header == nil || req.URL == nil || req.URL.Opaque != "" {
		return false
	}
	if req.URL.Scheme != "http" && (req.URL.Scheme != "https" || c.rest.DialTLSContext == nil) {
		return false
	}
	// A body with GetBody is in memory: reading it takes no time.
	inMemory := req.ContentLength > 0 && req.GetBody != nil || req.ContentLength == 0 && (req.Body == nil || req.Body == http.NoBody)
	if !inMemory || req.ContentLength > maxRequestBody {
		return false
	}
	if req.Close || len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 {
		return false
	}
	return c.straight(req)
}

// straight reports whether a request goes to its server without a proxy.
func (c *Transport) straight(req *http.Request) bool {
	if c.rest.Proxy == nil {
		return true
	}
	proxy, err := c.rest.Proxy(req)
	return proxy == nil && err == nil
}

func (c *Transport) dial(ctx context.Context, addr string, sealed bool) (*clientConn, error) {
	dial := c.rest.DialContext
	if sealed {
		dial = c.rest.DialTLSContext
	}
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return newClientConn(conn, addr, sealed), nil
}

const defaultMaxHeader = 10 << 20 // as net/http

func (c *Transport) maxHeader() int {
	if n := c.rest.MaxResponseHeaderBytes; n > 0 {
		return int(n)
	}
	return defaultMaxHeader
}
