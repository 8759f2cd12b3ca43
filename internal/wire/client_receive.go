package wire

import (
	"context"
	"errors"
	"io"
	"net/http"

	"mcp-all-in-one/internal/say"
)

func (p *Post) receive(of Owner, short bool, partly error) (length int64, other *http.Response, err error) {
	if short {
		length, err = p.in.readPlain(p.c.maxHeader(), &p.conn.short)
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
