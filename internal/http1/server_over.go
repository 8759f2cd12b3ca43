package http1

import (
	"net"
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

// give passes a connection to net/http, with the data that was read from it.
func (h *handedOver) give(nc net.Conn, read []byte) {
	b := &begun{Conn: nc, read: read, taken: make(chan struct{})}
	select {
	case h.conns <- b:
		// From here on, Shutdown of net/http knows the connection and waits for it.
		<-b.taken
	case <-h.closed:
		nc.Close()
	}
}

// begun is a connection from which data has been read.
type begun struct {
	net.Conn
	read  []byte
	once  sync.Once
	taken chan struct{} // closed when net/http begins to read
}

func (b *begun) Read(p []byte) (int, error) {
	b.once.Do(func() { close(b.taken) })
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
func (b *begun) NetConn() net.Conn { return b.Conn }

// CloseWrite lets net/http close a connection without losing its last response.
func (b *begun) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
