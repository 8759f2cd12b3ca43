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

// A ClientTransport carries requests to servers over kept connections. It follows no
// redirect, asks for no compression and puts no limit on how long an answer
// takes; a peer that has vanished is noticed by the kernel.
type ClientTransport struct {
	plain, secure *http.Transport
	short         *http1.Transport // what plain need not carry
}

// NewClientTransport returns a ClientTransport; clients may share it.
func NewClientTransport() *ClientTransport {
	t := &ClientTransport{plain: newHTTPTransport(), secure: newHTTPTransport()}
	// Node's servers close a kept connection after 5 s, and a call that meets
	// the closing is lost. Opening another one is cheap without TLS; what
	// stands in front of TLS keeps connections for a minute or more.
	t.plain.IdleConnTimeout = 4 * time.Second
	t.secure.IdleConnTimeout = 55 * time.Second
	t.short = http1.NewTransport(t.plain)
	return t
}

// NewSocketTransport carries requests over a Unix socket, whatever host their
// URLs name.
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

// timed makes a dialer return connections that know their round trip.
func timed(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		var started atomic.Pointer[time.Time] // the last attempt's: names may have several addresses
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

// CloseIdleConnections closes the connections that carry nothing.
func (t *ClientTransport) CloseIdleConnections() {
	t.short.CloseIdleConnections() // and the plain ones
	t.secure.CloseIdleConnections()
}
