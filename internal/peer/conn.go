package peer

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
)

const (
	dialWait  = time.Second
	keptConns = 1024 // to each replica
)

// A dialError says that nothing was sent, because there was no connection.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// In says it in a language.
func (e dialError) In(l i18n.Lang) string {
	return i18n.New("connecting to a replica: %v", "连接副本失败：%v", e.error).In(l)
}

func (n *Node) newTransport() *http1.Transport {
	secure := n.certs.tls()
	dialer := &net.Dialer{Timeout: dialWait}
	return http1.NewTransport(&http.Transport{
		MaxIdleConnsPerHost: keptConns, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialTLS(ctx, dialer, secure, network, address)
			if err != nil {
				return nil, dialError{err}
			}
			return conn, nil
		},
	})
}

func dialTLS(ctx context.Context, dialer *net.Dialer, secure *tls.Config, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*dialWait)
	defer cancel()
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	under := &rawConn{Conn: conn}
	over := tls.Client(under, secure)
	if err := over.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return &peerConn{Conn: over, under: under}, nil
}

// Listen opens the peer port.
func (n *Node) Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := http1.Listen(ctx, address)
	if err != nil {
		return nil, i18n.Errorf("opening the port for other replicas, cluster.peer %s: %w", "打开供其他副本访问的端口（cluster.peer %s）失败：%w", address, err)
	}
	return &listener{ln, ln.(*net.TCPListener).SetDeadline, n.certs.tls()}, nil
}

// A listener accepts other replicas. It can be interrupted without being
// closed. What it is made of is not shown: others are to find out at once that
// nobody is there, and a connection that breaks before it is secure costs them
// nothing.
type listener struct {
	net.Listener
	interrupt func(time.Time) error
	secure    *tls.Config
}

// SetDeadline bounds Accept.
func (l *listener) SetDeadline(t time.Time) error { return l.interrupt(t) }

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(conn, l.secure), nil
}

// A rawConn is what lies below the encryption.
type rawConn struct {
	net.Conn
	broken atomic.Bool // reading failed: what comes after is not the owner's word
}

// NetConn is the connection itself.
func (c *rawConn) NetConn() net.Conn { return c.Conn }

func (c *rawConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// A peerConn tells a connection that its owner closed from one that broke.
type peerConn struct {
	*tls.Conn
	under  *rawConn
	closed atomic.Bool // its owner closed it
	heard  atomic.Bool // the answer to what was written has begun
}

func (c *peerConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(true)
	}
	if err == io.EOF && !c.under.broken.Load() {
		c.closed.Store(true)
		if err = errClosed; c.heard.Load() {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// Write writes nothing once the owner is known to have closed the connection,
// which it may have said behind its last answer.
func (c *peerConn) Write(b []byte) (int, error) {
	if c.closed.Load() {
		return 0, errClosed
	}
	c.heard.Store(false)
	return c.Conn.Write(b)
}

// errClosed says that the owner closed a connection, and signed that it did. It
// closes those that wait for a request, and answers on the others.
var errClosed = i18n.Errorf("the replica closed the connection", "副本关闭了连接")
