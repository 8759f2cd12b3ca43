package peer

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/i18n"
)

const (
	dialWait  = time.Second
	keptConns = 1024 // per replica
)

// A dialError says that there was no connection, so nothing was sent.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

// In returns the message in a language.
func (e dialError) In(l i18n.Lang) string {
	return i18n.New("connecting to a replica: %v", "连接副本失败：%v", e.error).In(l)
}

func (n *Node) newTransport() *http1.Transport {
	secure := n.certs.tls()
	return http1.NewTransport(&http.Transport{
		MaxIdleConnsPerHost: keptConns, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialTLS(ctx, n, secure, network, address)
			if err != nil {
				return nil, dialError{err}
			}
			return conn, nil
		},
	})
}

func dialTLS(ctx context.Context, n *Node, secure *tls.Config, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*dialWait)
	defer cancel()
	conn, err := dial(ctx, n, network, address)
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

// dial opens a connection below TLS.
func dial(ctx context.Context, n *Node, network, address string) (net.Conn, error) {
	if node, ok := carriedNode(address); ok && n.opt.Carry != nil {
		return n.opt.Carry(ctx, node)
	}
	return (&net.Dialer{Timeout: dialWait}).DialContext(ctx, network, address)
}

// Listen opens the peer port.
func (n *Node) Listen(ctx context.Context, address string) (net.Listener, error) {
	ln, err := http1.Listen(ctx, address)
	if err != nil {
		return nil, i18n.Errorf("opening the port for other replicas, cluster.peer %s: %w", "打开供其他副本访问的端口（cluster.peer %s）失败：%w", address, err)
	}
	return &listener{secured{ln, n.certs.tls(), n.opt.Stranger}, ln.(*net.TCPListener).SetDeadline}, nil
}

// A listener accepts connections of other replicas. Accept can be interrupted
// without closing the listener. It hides the TCP listener's SyscallConn, so that
// http1 does not drop new connections at shutdown: other replicas must learn at
// once that this one has stopped, and a connection that breaks before the handshake
// costs them nothing.
type listener struct {
	secured
	interrupt func(time.Time) error
}

// SetDeadline sets the deadline of Accept.
func (l *listener) SetDeadline(t time.Time) error { return l.interrupt(t) }

// oneRecord is the largest write that crypto/tls sends as one record.
const oneRecord = 16 << 10

// recordBuffers are the buffers in which the records of large writes are collected:
// a response is written in parts of 256 KB, and the records of one part fit in.
var recordBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 264<<10); return &b }}

// A servedConn is a connection that another replica opened. It writes the records
// of a large response together: crypto/tls writes each one by itself, 64 for a
// megabyte, which costs a tenth of the throughput.
type servedConn struct {
	*tls.Conn
	under    *recordConn
	stranger func(from net.Addr)
}

// Read also does the handshake.
func (c *servedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.stranger != nil && isStranger(err) {
		c.stranger(c.RemoteAddr())
	}
	return n, err
}

func (c *servedConn) Write(p []byte) (int, error) {
	if len(p) <= oneRecord {
		return c.Conn.Write(p)
	}
	buf := recordBuffers.Get().(*[]byte)
	defer recordBuffers.Put(buf)
	c.under.collect((*buf)[:0])
	n, err := c.Conn.Write(p)
	if flushed := c.under.flush(); err == nil {
		err = flushed
	}
	return n, err
}

// A recordConn is the connection below the TLS of a servedConn. It needs a lock,
// because Close writes a record from another goroutine.
type recordConn struct {
	net.Conn
	mu      sync.Mutex
	records []byte // collected records; nil if records are written at once
}

// NetConn returns the underlying connection.
func (c *recordConn) NetConn() net.Conn { return c.Conn }

func (c *recordConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.records == nil {
		return c.Conn.Write(p)
	}
	if len(c.records)+len(p) > cap(c.records) {
		_, err := c.Conn.Write(c.records)
		if c.records = c.records[:0]; err != nil {
			return 0, err
		}
	}
	c.records = append(c.records, p...)
	return len(p), nil
}

func (c *recordConn) collect(into []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = into
}

// flush writes the collected records.
func (c *recordConn) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.Conn.Write(c.records)
	c.records = nil
	return err
}

// A rawConn is the connection below the TLS of a peerConn.
type rawConn struct {
	net.Conn
	broken atomic.Bool // a read failed: an EOF after that does not come from the owner
}

// NetConn returns the underlying connection.
func (c *rawConn) NetConn() net.Conn { return c.Conn }

func (c *rawConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.broken.Store(true)
	}
	return n, err
}

// A peerConn distinguishes a connection that its owner closed from one that broke.
type peerConn struct {
	*tls.Conn
	under  *rawConn
	closed atomic.Bool // the owner closed it
	heard  atomic.Bool // the response to the last request has begun
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

// Write writes nothing if the owner has closed the connection, which it may do
// right after its last response.
func (c *peerConn) Write(b []byte) (int, error) {
	if c.closed.Load() {
		return 0, errClosed
	}
	c.heard.Store(false)
	return c.Conn.Write(b)
}

// errClosed says that the owner closed a connection, authenticated by TLS. An owner
// closes only connections that wait for a request; requests on other connections
// are answered.
var errClosed = i18n.Errorf("the replica closed the connection", "副本关闭了连接")
