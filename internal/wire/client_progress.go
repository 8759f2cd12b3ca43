package wire

import (
	"bytes"
	"syscall"
	"time"
)

// errNothing says that nothing has come.
const errNothing = syscall.EAGAIN

// A progress is how far an answer has come.
type progress int

const (
	other progress = iota // more than a loop should see to
	partly
	whole // a plain answer, whose head is taken
	event // the first chunk of a stream is the answer; what follows it is unread
)

// progress looks at what has come. For other and partly it takes nothing.
func (p *Post) progress(cn *clientConn) progress {
	in := p.in
	n := headEnd(in.buf)
	if in.err != nil || n < 4 {
		return other
	}
	switch length, have := cn.short.read(in.buf[:n]), int64(len(in.buf)-n); {
	case length > 0 && have == length:
		in.at = n
		return whole
	case length > have && int64(n)+length < int64(cap(in.buf)):
		return partly
	case length == eventStream:
		return p.firstEvent(cn, n)
	}
	return other
}

// lastChunk follows the only chunk of a body.
const lastChunk = "\r\n0\r\n\r\n"

// patience is how long a loop waits for the first event of a stream, and for the
// end of one whose answer has come.
const patience = time.Second

// firstEvent looks at the first chunk of an event stream, whose body begins at n.
func (p *Post) firstEvent(cn *clientConn, n int) progress {
	in := p.in
	from, size, ok := firstChunk(in.buf[n:])
	from += n
	switch {
	case !ok || from+size+len(lastChunk) > cap(in.buf):
		return other
	case from == n || from+size > len(in.buf):
		cn.alarm(patience) // a stream that is silent for long is looked after by a goroutine
		return partly
	}
	cn.calm()
	chunk, rest := in.buf[from:from+size], in.buf[from+size:]
	if len(rest) > len(lastChunk) || string(rest) != lastChunk[:len(rest)] || !p.then.Event(chunk) {
		return other
	}
	in.at = from + size
	return event
}

// firstChunk returns where the first chunk of a body begins, 0 when its size has
// not come yet, and its size; false when it is not of the usual kind.
func firstChunk(body []byte) (from, size int, ok bool) {
	line, _, found := bytes.Cut(body, []byte("\r\n"))
	if !found {
		return 0, 0, len(body) < 8
	}
	n, err := parseChunkSize(line)
	if err != nil || n == 0 || n > clientBufferSize {
		return 0, 0, false
	}
	return len(line) + 2, int(n), true
}

// letGoOwed lets go of a connection on which the end of the answer, but for what
// has come of it, is still to come.
func (p *Post) letGoOwed(come int) {
	cn, ended := p.letGo()
	switch {
	case !p.all || ended:
		cn.Close()
	case come == len(lastChunk):
		p.c.pool.put(cn, p.c.rest)
	default:
		cn.c = p.c
		cn.owe(lastChunk[come:])
	}
}

// owe has the loop wait for the end of an answer.
func (cn *clientConn) owe(end string) {
	cn.owed = end
	cn.alarm(patience)
	cn.owes.Store(true)
}

// collect reads the end of an answer. Anything else costs the connection.
func (cn *clientConn) collect(last bool) {
	var buf [len(lastChunk) + 1]byte
	n, err := cn.talk.hear(buf[:])
	switch {
	case err == errNothing && !last:
		cn.owe(cn.owed)
	case err != nil || last || n == 0 || n > len(cn.owed) || string(buf[:n]) != cn.owed[:n]:
		cn.calm()
		cn.Close()
	case n < len(cn.owed):
		cn.owe(cn.owed[n:])
	default:
		cn.calm()
		cn.c.pool.put(cn, cn.c.rest)
	}
}

// alarm has overdue called, unless calm is before that.
func (cn *clientConn) alarm(after time.Duration) {
	if cn.timer == nil {
		cn.timer = time.AfterFunc(after, cn.overdue)
		return
	}
	cn.timer.Reset(after)
}

func (cn *clientConn) calm() {
	if cn.timer != nil {
		cn.timer.Stop()
	}
}

// overdue takes from the loop what takes too long.
func (cn *clientConn) overdue() {
	if p := cn.waiting.Swap(nil); p != nil {
		p.goOn(cn)
	} else if cn.owes.CompareAndSwap(true, false) {
		cn.Close()
	}
}
