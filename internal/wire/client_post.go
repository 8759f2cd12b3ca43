package wire

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A Target is where somebody posts to again and again.
type Target struct {
	c    *Client
	url  *url.URL
	host string
	addr string
}

// Target returns u as one, nil where its requests are for net/http. The host
// named to the server is another one than that of u where it is not empty.
func (c *Client) Target(u *url.URL, host string) *Target {
	if !canTalk || u.Scheme != "http" || u.Opaque != "" || !c.straight(&http.Request{URL: u}) {
		return nil
	}
	if host == "" {
		host = u.Host
	}
	return &Target{c: c, url: u, host: host, addr: dialAddress(u)}
}

// AppendHead appends the head of a request, but for its end and the length of
// its body. It reports false where net/http has to write it.
func (t *Target) AppendHead(b []byte, header http.Header) ([]byte, bool) {
	return appendHead(b, t.url, t.host, header)
}

// MaxPost is the longest body that Send takes.
const MaxPost = maxRequestBody

// An Owner is who waits for an exchange. Its context is asked for only where
// one is needed: to make a connection, for an answer that may take a while, and
// to find out why the exchange was ended.
type Owner interface {
	Context() context.Context
}

// A Post is one exchange. It can be used again when that is over and belongs to
// one goroutine, except for End.
type Post struct {
	c   *Client
	in  *clientBuffer
	all bool // of the request was written

	mu    sync.Mutex
	conn  *clientConn // while the exchange has one
	ended bool
}

// Reset prepares for the next exchange.
func (p *Post) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = false
}

var longAgo = time.Unix(1, 0)

// End makes the exchange fail, and does not wait for that. The context of its
// owner must have ended before.
func (p *Post) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.conn != nil {
		_ = p.conn.SetDeadline(longAgo)
	}
}

func (p *Post) hold(cn *clientConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.conn = cn
	}
	return !p.ended
}

// letGo returns the connection, which End no longer reaches, and whether that
// was called.
func (p *Post) letGo() (cn *clientConn, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cn, p.conn = p.conn, nil
	return cn, p.ended
}

// Buffer returns memory to make a request in, for Send or Drop.
func (p *Post) Buffer() []byte {
	p.in = newClientBuffer()
	return p.in.buf[:0]
}

// Drop gives the memory of Buffer back.
func (p *Post) Drop() {
	p.in.free()
	p.in = nil
}

// Send sends a request that was made in Buffer: a head of AppendHead, with
// fields of AppendField, and from body on the body. It reads the head of the
// answer.
//
// The length of a plain answer is returned, 200 with JSON of a known length:
// Read or Leave must follow. Every other one is returned as RoundTrip does.
func (p *Post) Send(to *Target, msg []byte, body int, of Owner) (length int64, other *http.Response, err error) {
	p.in.buf = msg
	p.in.putLength(body)
	return p.exchange(to.c, to.addr, of, true)
}

func (p *Post) exchange(c *Client, addr string, of Owner, short bool) (length int64, other *http.Response, err error) {
	p.c = c
	partly, err := p.write(addr, of)
	if err != nil {
		p.Drop()
		return 0, nil, err
	}
	p.all = partly == nil
	return p.receive(of, short, partly)
}

// write sends the request. An error beside nil says that only a part was
// written: the server may have answered and closed before it had read all.
func (p *Post) write(addr string, of Owner) (partly, err error) {
	for {
		cn, kept := p.c.pool.get(addr, p.c.rest.IdleConnTimeout), true
		if cn == nil {
			kept = false
			if cn, err = p.c.dial(of.Context(), addr); err != nil {
				return nil, err
			}
		}
		n := 0
		if err = net.ErrClosed; p.hold(cn) {
			n, err = p.in.ask(cn, kept)
		}
		if err == nil || n > 0 {
			return err, nil
		}
		p.letGo()
		cn.Close()
		if ctx := of.Context(); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !kept {
			return nil, &NotSentError{err}
		}
	}
}
