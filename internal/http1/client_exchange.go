package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"mcp-all-in-one/internal/i18n"
)

// A clientExchange is one request and its response, from sending the request to the
// end of the response body.
type clientExchange struct {
	c    *Transport
	ctx  context.Context
	addr string
	pool *clientPool
	stop func() bool // detaches the exchange from ctx; nil if ctx never ends
	over atomic.Bool // conn is released
	// trace gets GotConn, WroteRequest and GotFirstResponseByte; the last one is
	// called when the whole header has arrived. It is nil if the request is not
	// traced.
	trace *httptrace.ClientTrace

	mu    sync.Mutex
	conn  *clientConn // nil before the first connection
	ended bool        // ctx has ended

	resp http.Response
	body clientBody
}

// newClientExchange returns an exchange for the request in the buffer.
func newClientExchange(c *Transport, req *http.Request, in *clientBuffer) *clientExchange {
	x := &clientExchange{c: c, ctx: req.Context(), addr: dialAddress(req.URL), pool: &c.plain, trace: httptrace.ContextClientTrace(req.Context())}
	if req.URL.Scheme == "https" {
		x.pool = &c.sealed
	}
	x.body.x, x.body.in, x.resp.Request = x, in, req
	if x.ctx.Done() != nil {
		x.stop = context.AfterFunc(x.ctx, x.end)
	}
	return x
}

// end makes the exchange fail because its context has ended.
func (x *clientExchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended = true; x.conn != nil {
		x.conn.Close()
	}
}

// hold makes cn the connection of the exchange; it reports false if the exchange
// has ended.
func (x *clientExchange) hold(cn *clientConn) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.conn = cn
	return !x.ended
}

// run sends the request and returns when the header of the response has arrived.
func (x *clientExchange) run() (*http.Response, error) {
	partly, err := x.send()
	if err != nil {
		x.body.in.free()
		if x.stop != nil {
			x.stop()
		}
		return nil, err
	}
	framing, err := x.body.in.readHead(&x.resp, x.c.maxHeader())
	if err != nil {
		x.release(false)
		x.body.in.free()
		return nil, x.failure(err, partly)
	}
	if x.trace != nil && x.trace.GotFirstResponseByte != nil {
		x.trace.GotFirstResponseByte()
	}
	framing.keep = framing.keep && partly == nil
	x.body.begin(framing, &x.resp)
	return &x.resp, nil
}

// send writes the request to a kept connection, or to a new one. partly is the
// write error if only a part was written. That is no failure yet: the server may
// have responded and closed before it had read the whole request.
func (x *clientExchange) send() (partly, err error) {
	for {
		cn, kept := x.pool.get(x.addr, x.body.in.head, x.c.rest.IdleConnTimeout), true
		if cn == nil {
			kept = false
			if cn, err = x.c.dial(x.ctx, x.addr, x.pool == &x.c.sealed); err != nil {
				return nil, err
			}
		}
		cn.head = x.body.in.head
		n := 0
		if err = net.ErrClosed; x.hold(cn) {
			n, err = x.body.in.ask(cn, kept, x.traced(cn, kept))
		}
		if err == nil || n > 0 {
			return err, nil
		}
		cn.Close()
		if x.ctx.Err() != nil {
			return nil, context.Cause(x.ctx)
		}
		if !kept {
			return nil, &NotSentError{err}
		}
	}
}

// traced passes the connection to the trace. It returns the function to call when
// the request is written, nil if there is none.
func (x *clientExchange) traced(cn *clientConn, kept bool) (wrote func()) {
	if x.trace == nil {
		return nil
	}
	if x.trace.GotConn != nil {
		x.trace.GotConn(httptrace.GotConnInfo{Conn: cn.Conn, Reused: kept})
	}
	if x.trace.WroteRequest == nil {
		return nil
	}
	return func() { x.trace.WroteRequest(httptrace.WroteRequestInfo{}) }
}

// release returns the connection to the pool or closes it, once.
func (x *clientExchange) release(keep bool) {
	if x.over.Swap(true) {
		return
	}
	if x.stop != nil && !x.stop() {
		keep = false // the context has ended and closes the connection
	}
	if keep {
		x.pool.put(x.conn, x.c.rest)
		return
	}
	x.conn.Close()
}

func (x *clientExchange) failure(err, partly error) error {
	switch {
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case partly != nil: // and no response explains it
		return i18n.Errorf("sending the request: %w", "发送请求失败：%w", partly)
	case errors.Is(err, io.EOF):
		return i18n.Errorf("the server closed the connection before its answer: %w", "服务器在应答之前关闭了连接：%w", io.ErrUnexpectedEOF)
	}
	return i18n.Errorf("reading the answer: %w", "读取应答失败：%w", err)
}
