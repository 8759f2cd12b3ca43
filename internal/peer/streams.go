package peer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcphttp"
)

// Streams outside any call stay open for days, and carry little. All such streams
// between two replicas share one connection, with HTTP/2: a connection of TLS for
// each would take several times the memory.
const (
	streamsPath     = "/peer/v1/streams"
	streamsProtocol = "h2c"
	// maxStreams is how many streams share a connection.
	maxStreams = 10_000
	// unread is how much of a stream that its client does not read is kept here.
	unread = 64 << 10
	// quiet is how long a connection may be silent before it is checked.
	quiet = 15 * time.Second
)

// streams are the connections that carry streams, from and to other replicas.
type streams struct {
	plain     http.RoundTripper // for replicas of a release without such connections
	transport *http.Transport
	server    *http.Server
	arrived   chan net.Conn
	once      sync.Once
	over      chan struct{} // closed by Close
}

func newStreams(plain http.RoundTripper, handler http.Handler, log *slog.Logger) *streams {
	s := &streams{plain: plain, arrived: make(chan net.Conn), over: make(chan struct{})}
	protocols, settings := new(http.Protocols), &http.HTTP2Config{
		MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: unread, SendPingTimeout: quiet, PingTimeout: quiet, WriteByteTimeout: quiet,
	}
	protocols.SetUnencryptedHTTP2(true) // the connection is TLS already
	s.transport = &http.Transport{
		DialContext: s.dial, Protocols: protocols, HTTP2: settings, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
	}
	s.server = mcphttp.HTTPServer(handler, mcphttp.ServerLimits{}, log)
	s.server.Protocols, s.server.HTTP2 = protocols, settings
	return s
}

// RoundTrip sends a request without a body on a shared connection.
func (s *streams) RoundTrip(req *http.Request) (*http.Response, error) {
	req.URL.Scheme = "http"
	resp, err := s.transport.RoundTrip(req)
	if errors.Is(err, errNotJoined) {
		req.URL.Scheme = "https"
		return s.plain.RoundTrip(req)
	}
	return resp, err
}

// dial opens a connection for streams.
func (s *streams) dial(ctx context.Context, _, address string) (net.Conn, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+streamsPath, nil)
	if err != nil {
		return nil, err
	}
	req.Header["Connection"], req.Header["Upgrade"] = []string{"Upgrade"}, []string{streamsProtocol}
	resp, err := s.plain.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		return upgraded{conn}, nil
	}
	resp.Body.Close()
	return nil, errNotJoined
}

// take serves the streams on a connection of another replica.
func (s *streams) take(conn net.Conn) {
	s.once.Do(func() { go s.server.Serve(s) }) // it ends with Close, and has no other error
	select {
	case s.arrived <- conn:
	case <-s.over:
		conn.Close()
	}
}

// Accept returns the next connection; a streams is the listener of its server.
func (s *streams) Accept() (net.Conn, error) {
	select {
	case conn := <-s.arrived:
		return conn, nil
	case <-s.over:
		return nil, net.ErrClosed
	}
}

// Addr returns no address: connections come from the peer port.
func (s *streams) Addr() net.Addr { return &net.TCPAddr{} }

// Close is called once, by the server.
func (s *streams) Close() error { return nil }

// end closes all connections.
func (s *streams) end() {
	close(s.over)
	s.server.Close()
	s.transport.CloseIdleConnections()
}

// An upgraded is a connection to another replica that began with a request.
// Writes to it are bounded by HTTP/2, and so is silence.
type upgraded struct{ io.ReadWriteCloser }

func (upgraded) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (upgraded) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (upgraded) SetDeadline(time.Time) error      { return nil }
func (upgraded) SetReadDeadline(time.Time) error  { return nil }
func (upgraded) SetWriteDeadline(time.Time) error { return nil }
