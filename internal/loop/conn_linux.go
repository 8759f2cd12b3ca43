package loop

import (
	"cmp"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Conn is a File that is a connection.
type Conn struct {
	*File
	local, remote net.Addr
	writing       sync.Mutex // one text at a time
}

// Adopt takes a connection from the runtime, where that is possible; else it returns
// it as it is.
func Adopt(nc net.Conn) net.Conn {
	var sc syscall.Conn
	switch c := nc.(type) {
	case *net.TCPConn:
		sc = c
	case *net.UnixConn:
		sc = c
	default:
		return nc
	}
	f := adopt(sc)
	if f == nil {
		return nc
	}
	c := &Conn{File: f, local: nc.LocalAddr(), remote: nc.RemoteAddr()}
	nc.Close()
	return c
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return c.explain("set", cmp.Or(c.in.deadline(t), c.out.deadline(t)))
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.explain("set", c.in.deadline(t))
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.explain("set", c.out.deadline(t))
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	return n, c.explain("read", err)
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for {
		seen, err := c.out.enter()
		if err != nil {
			return n, c.explain("write", err)
		}
		sent, err := c.write(p[n:])
		if n += sent; err != syscall.EAGAIN {
			return n, c.explain("write", err)
		}
		if err := c.out.wait(seen); err != nil {
			return n, c.explain("write", err)
		}
	}
}

// write does not wait: it writes what it can.
func (c *Conn) write(p []byte) (sent int, err error) {
	if err := c.fd.use(); err != nil {
		return 0, err
	}
	defer c.fd.done()
	for sent < len(p) {
		n, err := syscall.Write(c.fd.number, p[sent:])
		if err != nil && err != syscall.EINTR {
			return sent, err
		}
		sent += max(n, 0)
	}
	return sent, nil
}

// CloseWrite is that of a net.TCPConn.
func (c *Conn) CloseWrite() error {
	if err := c.fd.use(); err != nil {
		return err
	}
	defer c.fd.done()
	return c.explain("close", unix.Shutdown(c.fd.number, unix.SHUT_WR))
}

// explain makes errors those of package net.
func (c *Conn) explain(what string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(what, errno)
	} else if err != net.ErrClosed && err != os.ErrDeadlineExceeded {
		return err
	}
	return &net.OpError{Op: what, Net: c.local.Network(), Source: c.local, Addr: c.remote, Err: err}
}
