package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/http1"
)

// A ClientTransport sends requests to servers over keep-alive connections. It
// follows no redirects, requests no compression and does not limit how long a
// response takes; the kernel detects a vanished peer.
type ClientTransport struct {
	plain, secure *http.Transport
	short         *http1.Transport // for the requests that it can send; plain sends the rest
}

// NewClientTransport returns a ClientTransport that clients may share.
func NewClientTransport() *ClientTransport {
	t := &ClientTransport{plain: newHTTPTransport(), secure: newHTTPTransport()}
	// Node's servers close an idle connection after 5 s, and a call sent at that
	// moment is lost. A new connection is cheap without TLS. Proxies that terminate
	// TLS keep idle connections for a minute or more.
	t.plain.IdleConnTimeout = 4 * time.Second
	t.secure.IdleConnTimeout = 55 * time.Second
	t.short = http1.NewTransport(t.plain)
	return t
}

// NewSocketTransport returns a transport that sends all requests over a Unix
// socket, whatever host their URLs name.
func NewSocketTransport(path string) *ClientTransport {
	t := NewClientTransport()
	for _, side := range []*http.Transport{t.plain, t.secure} {
		side.Proxy = nil
		side.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
	}
	return t
}

func newHTTPTransport() *http.Transport {
	dialer := &net.Dialer{
		Timeout:         10 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3},
		Control:         setUserTimeout,
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            timed(dialer),
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    1024, // as many as may be in flight
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

// timed makes a dialer return connections that know their round-trip time.
func timed(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var started atomic.Pointer[time.Time] // of the last attempt: a name may have several addresses
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			ConnectStart: func(string, string) { now := time.Now(); started.Store(&now) },
		})
		conn, err := d.DialContext(traced, network, addr)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			return &timedConn{tcp, time.Since(*started.Load())}, nil
		}
		return conn, err
	}
}

// RoundTrip sends one request.
func (t *ClientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "https" {
		return t.secure.RoundTrip(r)
	}
	return t.short.RoundTrip(r)
}

// CloseIdleConnections closes the connections that carry no request.
func (t *ClientTransport) CloseIdleConnections() {
	t.short.CloseIdleConnections() // also closes those of plain
	t.secure.CloseIdleConnections()
}
