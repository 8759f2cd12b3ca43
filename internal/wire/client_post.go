package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mcp-all-in-one/internal/say"
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

	then Then // of an exchange that Start has begun

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
	cn := p.conn
	if cn == nil {
		return
	}
	_ = cn.SetDeadline(longAgo)
	cn.cut.Store(true)
	if cn.waiting.CompareAndSwap(p, nil) {
		go p.goOn(cn)
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

// Receive reads the head of the answer to a request that Start has sent, as Send
// does.
func (p *Post) Receive(of Owner) (length int64, other *http.Response, err error) {
	return p.receive(of, true, nil)
}

func (p *Post) receive(of Owner, short bool, partly error) (length int64, other *http.Response, err error) {
	if short {
		length, err = p.in.readPlain(p.c.maxHeader(), &p.conn.plain)
	}
	if err == nil && length == 0 {
		other, err = p.readOther(of)
	}
	if err == nil {
		return length, other, nil
	}
	p.Leave()
	return 0, nil, p.failure(err, partly, of)
}

// write sends the request. An error beside nil says that only a part was
// written: the server may have answered and closed before it had read all.
func (p *Post) write(addr string, of Owner) (partly, err error) {
	for {
		cn, kept := p.c.pool.get(addr, nil, p.c.rest.IdleConnTimeout), true
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

// readOther reads the head of an answer whose body ends the exchange.
func (p *Post) readOther(of Owner) (*http.Response, error) {
	b := &clientBody{c: p.c, in: p.in}
	framing, err := p.in.readHead(&b.resp, p.c.maxHeader())
	if err != nil {
		return nil, err
	}
	b.ctx = of.Context()
	if b.ctx.Done() != nil {
		b.stop = context.AfterFunc(b.ctx, p.conn.end)
	}
	var ended bool
	b.conn, ended = p.letGo()
	p.in = nil
	framing.keep = framing.keep && p.all && !ended
	return b.begin(framing), nil
}

func (p *Post) failure(err, partly error, of Owner) error {
	ctx := of.Context()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case partly != nil: // and there was no answer that would say why
		return say.Errorf("sending the request: %w", "发送请求失败：%w", partly)
	case errors.Is(err, io.EOF):
		return say.Errorf("the server closed the connection before its answer: %w", "服务在应答之前关闭了连接：%w", io.ErrUnexpectedEOF)
	}
	return say.Errorf("reading the answer: %w", "读取应答失败：%w", err)
}

// Read reads the body of a plain answer; b is as long as that.
func (p *Post) Read(b []byte) error {
	n, err := copy(b, p.in.unread()), error(nil)
	p.in.at += n
	if n < len(b) {
		_, err = io.ReadFull(p.conn, b[n:])
	}
	// What came behind the end answers nothing that was asked.
	p.finish(err == nil && p.all && len(p.in.unread()) == 0)
	return cutOff(err)
}

// Take is Read without copying, where all of the body has come with the head; nil
// where it has not. release gives its memory back.
func (p *Post) Take(length int64) (b []byte, release func()) {
	in := p.in
	if int64(len(in.unread())) != length {
		return nil, nil
	}
	p.in = nil
	p.letGoOf(p.all)
	return in.unread(), in.release
}

// Leave ends the exchange without reading the body of a plain answer, which
// costs the connection.
func (p *Post) Leave() { p.finish(false) }

func (p *Post) finish(keep bool) {
	p.Drop()
	p.letGoOf(keep)
}

// letGoOf keeps the connection for the next exchange, or closes it.
func (p *Post) letGoOf(keep bool) {
	cn, ended := p.letGo()
	if keep && !ended {
		p.c.pool.put(cn, p.c.rest)
		return
	}
	cn.Close()
}
