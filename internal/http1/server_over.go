package http1

import (
	"net"
	"sync"
)

// handedOver is the listener of connections that are for net/http.
type handedOver struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	fresh  sync.WaitGroup // the connections that have not asked anything yet
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

// give hands a connection over with what was read of it.
func (h *handedOver) give(nc net.Conn, read []byte) {
	b := &begun{Conn: nc, read: read, taken: make(chan struct{})}
	select {
	case h.conns <- b:
		// From here on Shutdown of net/http knows of it, and waits for it.
		<-b.taken
	case <-h.closed:
		nc.Close()
	}
}

// A begun connection has been read from.
type begun struct {
	net.Conn
	read  []byte
	once  sync.Once
	taken chan struct{} // closed when net/http reads
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

// NetConn is the connection itself.
func (b *begun) NetConn() net.Conn { return b.Conn }

// CloseWrite lets net/http end a connection without losing its last answer.
func (b *begun) CloseWrite() error {
	if c, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
