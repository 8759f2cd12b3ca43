package http1

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// A clientConn is a connection to a server, in use or idle.
type clientConn struct {
	net.Conn
	addr   string
	head   uint64      // hash of the head of the last request
	sealed bool        // over TLS; talk is not used then
	talk   *talker     // nil if the connection has no file descriptor
	quiet  func() bool // whether it is open and has no unread data; nil if that cannot be checked
	since  time.Time   // when it became idle
}

func newClientConn(conn net.Conn, addr string, sealed bool) *clientConn {
	below := conn
	for sealed {
		over, ok := below.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		below = over.NetConn()
	}
	cn := &clientConn{Conn: conn, addr: addr, sealed: sealed, talk: newTalker(below)}
	if knows, ok := below.(interface{ Quiet() bool }); ok {
		cn.quiet = knows.Quiet
	} else if cn.talk != nil {
		cn.quiet = cn.talk.open
	}
	return cn
}

// A clientPool keeps idle connections. It reuses the most recent connection first,
// so that the others reach their maximum age and are closed. One timer serves all
// connections.
type clientPool struct {
	mu      sync.Mutex
	idle    map[string][]*clientConn // by address, oldest first
	total   int
	timer   *time.Timer
	armed   bool
	closing bool // until the next request, connections are closed when they become idle
}

// looked is how many idle connections pop checks for the same request head.
const looked = 32

// get returns an idle connection, nil if there is none. The caller must check that
// the server has not closed it or sent data since.
func (p *clientPool) get(addr string, head uint64, maxAge time.Duration) *clientConn {
	for {
		cn := p.pop(addr, head)
		if cn == nil || maxAge <= 0 || time.Since(cn.since) < maxAge {
			return cn
		}
		cn.Close()
	}
}

// pop takes a connection whose last request had the same head, if there is one
// among the last few, else the most recent one.
func (p *clientPool) pop(addr string, head uint64) *clientConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing = false
	list := p.idle[addr]
	if len(list) == 0 {
		return nil
	}
	at := len(list) - 1
	for i := at; i >= 0 && i > at-looked; i-- {
		if list[i].head == head {
			at = i
			break
		}
	}
	cn := list[at]
	p.idle[addr] = slices.Delete(list, at, at+1)
	p.total--
	return cn
}

// put keeps a connection if limits allow it, and closes it otherwise.
func (p *clientPool) put(cn *clientConn, limits *http.Transport) {
	if cn.quiet == nil || !p.push(cn, limits) {
		cn.Close()
	}
}

func (p *clientPool) push(cn *clientConn, limits *http.Transport) bool {
	perHost := limits.MaxIdleConnsPerHost
	if perHost == 0 {
		perHost = http.DefaultMaxIdleConnsPerHost
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing || len(p.idle[cn.addr]) >= perHost || limits.MaxIdleConns > 0 && p.total >= limits.MaxIdleConns {
		return false
	}
	if p.idle == nil {
		p.idle = make(map[string][]*clientConn)
	}
	cn.since = time.Now()
	p.idle[cn.addr] = append(p.idle[cn.addr], cn)
	p.total++
	if maxAge := limits.IdleConnTimeout; maxAge > 0 && !p.armed {
		p.armed = true
		p.timer = time.AfterFunc(maxAge, func() { p.sweep(maxAge) })
	}
	return true
}

// sweep closes the connections that have been idle for maxAge, and sets the timer
// for the rest.
func (p *clientPool) sweep(maxAge time.Duration) {
	for _, cn := range p.takeOld(time.Now().Add(-maxAge), maxAge) {
		cn.Close()
	}
}

func (p *clientPool) takeOld(before time.Time, maxAge time.Duration) []*clientConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var old []*clientConn
	next := maxAge
	for addr, list := range p.idle {
		n := 0
		for n < len(list) && !list[n].since.After(before) {
			n++
		}
		old = append(old, list[:n]...)
		if n == len(list) {
			delete(p.idle, addr)
			continue
		}
		p.idle[addr] = append([]*clientConn(nil), list[n:]...)
		next = min(next, list[n].since.Sub(before))
	}
	p.total -= len(old)
	if p.armed = len(p.idle) > 0; p.armed {
		p.timer.Reset(next)
	}
	return old
}

func (p *clientPool) closeIdle() {
	p.mu.Lock()
	all := p.idle
	p.idle, p.total, p.closing = nil, 0, true
	if p.armed {
		p.timer.Stop()
		p.armed = false
	}
	p.mu.Unlock()
	for _, list := range all {
		for _, cn := range list {
			cn.Close()
		}
	}
}
