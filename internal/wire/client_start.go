package wire

import (
	"io"

	"mcp-all-in-one/internal/loop"
)

// A Then goes on with an exchange that Start has begun: one of Whole, Found and
// Rest is called, once. But for Rest none of its methods may wait.
type Then interface {
	// Whole has a plain answer. release gives its memory back.
	Whole(t *loop.Turn, b []byte, release func())
	// Event says whether the first chunk of an event stream is the answer; then
	// Found follows, and release gives its memory back.
	Event(b []byte) bool
	Found(t *loop.Turn, release func())
	// Rest has a goroutine to itself, for all that is not so simple. It calls
	// Receive.
	Rest()
}

// Start is Send for whoever does not wait for the answer. It reports false, and
// has done nothing, where no connection is kept. In a turn of a loop it uses one
// of that loop: then one goroutine sees to the whole call.
func (p *Post) Start(t *loop.Turn, to *Target, msg []byte, body int, then Then) bool {
	var on *loop.Loop
	if t != nil {
		on = t.Loop
	}
	p.in.buf = msg
	p.in.putLength(body)
	p.c, p.then = to.c, then
	for {
		cn := p.c.pool.get(to.addr, on, p.c.rest.IdleConnTimeout)
		if cn == nil {
			p.Drop()
			return false
		}
		if !cn.listens(on) || !p.hold(cn) {
			p.letGo()
			p.c.pool.put(cn, p.c.rest)
			p.Drop()
			return false
		}
		seen := cn.seen.Load()
		n, err := cn.talk.say(p.in.buf)
		if n == 0 && err != nil {
			p.letGo()
			cn.Close()
			continue // to the next one: nothing was sent
		}
		p.all = n == len(p.in.buf)
		if !p.all {
			go p.startSlowly(cn, n)
			return true
		}
		p.Drop()
		p.await(cn, seen)
		return true
	}
}

// startSlowly writes the rest of a request that did not fit at once. An error
// does not matter: the server may have answered before it had read all.
func (p *Post) startSlowly(cn *clientConn, sent int) {
	_, _ = cn.Write(p.in.buf[sent:])
	p.in.start(cn)
	p.then.Rest()
}

// await has the loop of the connection go on. Nothing of p may be used
// afterwards: the answer may have come.
func (p *Post) await(cn *clientConn, seen uint64) {
	cn.waiting.Store(p)
	// What came before that was told to nobody, and so was the end.
	if (cn.seen.Load() != seen || cn.cut.Load()) && cn.waiting.CompareAndSwap(p, nil) {
		go p.goOn(cn)
	}
}

// goOn reads the answer with a goroutine.
func (p *Post) goOn(cn *clientConn) {
	if p.in == nil {
		p.in = newClientBuffer()
		p.in.start(cn)
	}
	p.then.Rest()
}

// listens says that a loop tells what comes on the connection: l, if there is one.
// A connection that was kept for another loop moves: whoever needs it will need it
// again.
func (cn *clientConn) listens(l *loop.Loop) bool {
	if cn.file == nil || l != nil && cn.file.Loop() != l && !cn.file.Move(l) {
		return false
	}
	if cn.loop == nil {
		cn.file.Listen(cn)
	}
	cn.loop = cn.file.Loop()
	return true
}

// Ready implements loop.Listener. What comes while nobody waits is found when the
// connection is used next.
func (cn *clientConn) Ready(l *loop.Loop, last bool) {
	seen := cn.seen.Add(1)
	if p := cn.waiting.Swap(nil); p != nil {
		p.come(cn, l, seen, last)
	} else if cn.owes.CompareAndSwap(true, false) {
		cn.collect(last)
	}
}

// come reads what has come. Where that is the last there is, nothing more will be
// told.
func (p *Post) come(cn *clientConn, l *loop.Loop, seen uint64, last bool) {
	in := p.in
	if in == nil {
		in = newClientBuffer()
		in.start(cn)
	}
	n, err := cn.talk.hear(in.buf[len(in.buf):cap(in.buf)])
	if err == errNothing && !last {
		if p.in == nil {
			in.free()
		}
		p.await(cn, seen)
		return
	}
	p.in = in
	switch {
	case err == errNothing:
		err = nil // a goroutine finds out
	case err == nil && n == 0:
		err = io.EOF
	}
	in.buf, in.err = in.buf[:len(in.buf)+n], err
	switch at := p.progress(cn); {
	case at == whole:
		b, release := p.Take(int64(len(in.unread())))
		p.then.Whole(&l.Turn, b, release)
	case at == event:
		then := p.then
		p.in = nil
		p.letGoOwed(len(in.unread()))
		then.Found(&l.Turn, in.release)
	case at == partly && !last:
		p.await(cn, seen)
	default:
		go p.then.Rest()
	}
}
