package http1

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// handedOver is the listener from which net/http accepts its connections.
type handedOver struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	fresh  sync.WaitGroup // connections that have not sent a request yet
}

func (h *handedOver) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handedOver) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handedOver) Addr() net.Addr { return h.addr }

// give passes a connection to net/http, with the data that was read from it. It
// returns when net/http answers the first request or closes the connection: until
// then, a Shutdown of net/http would close it without an answer.
func (h *handedOver) give(c *conn, read []byte) {
	b := &partlyRead{Conn: c.nc, read: read, asks: c.asks, taken: make(chan struct{})}
	select {
	case h.conns <- b:
		<-b.taken
	case <-h.closed:
		c.nc.Close()
	}
}

// partlyRead is a connection from which data has been read.
type partlyRead struct {
	net.Conn
	read  []byte
	asks  func() // notes the first request
	once  sync.Once
	taken chan struct{} // closed when net/http answers, or closes the connection
}

func (b *partlyRead) answered() {
	b.once.Do(func() {
		b.asks()
		b.asks = nil // it holds the buffers of the conn, and a stream may be open for days
		close(b.taken)
	})
}

// Write notes answers that net/http gives without the handler.
func (b *partlyRead) Write(p []byte) (int, error) {
	b.answered()
	return b.Conn.Write(p)
}

func (b *partlyRead) Close() error {
	b.answered()
	return b.Conn.Close()
}

// partlyReadKey is the context key of the connection that a request came on.
type partlyReadKey struct{}

func withBegun(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, partlyReadKey{}, c)
}

// answering is the handler of net/http: h, noted when it begins.
func answering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(partlyReadKey{}).(*partlyRead).answered()
		h.ServeHTTP(w, r)
	})
}

func (b *partlyRead) Read(p []byte) (int, error) {
	if len(b.read) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.read)
	if b.read = b.read[n:]; len(b.read) == 0 {
		b.read = nil
	}
	return n, nil
}

// NetConn returns the underlying connection.
func (b *partlyRead) NetConn() net.Conn { return b.Conn }

// CloseWrite lets net/http close a connection without losing its last response.
func (b *partlyRead) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
