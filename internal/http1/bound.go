package http1

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bound makes std end requests that make no progress. A body that stalls for
// bodyIdle fails. Over HTTP/1 a request whose body has not arrived whole is answered
// at once, on a connection that is then closed: by itself net/http reads up to 256 KB
// of a body before it answers, and waits for them as long as the client likes. An
// answer fails if its client does not read it for writeIdle, unless the handler sets
// its own deadline.
func Bound(std *http.Server, bodyIdle, writeIdle time.Duration) {
	std.Handler = &bound{std.Handler, bodyIdle, writeIdle}
	// For what net/http answers itself, such as an unknown Expect. ReadTimeout is no
	// limit for requests without a body: net/http clears it when the body has arrived.
	std.ReadTimeout, std.WriteTimeout = bodyIdle, writeIdle
	std.HTTP2 = &http.HTTP2Config{WriteByteTimeout: writeIdle, MaxReadFrameSize: frameSize}
}

// frameSize is the largest frame of HTTP/2, the least that is allowed. net/http makes
// room for a whole frame as soon as its first bytes arrive, even if no request is open.
const frameSize = 16 << 10

type bound struct {
	http.Handler
	bodyIdle, writeIdle time.Duration
}

func (b *bound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &boundAnswer{ResponseWriter: w, rc: http.NewResponseController(w), idle: b.writeIdle, http2: r.ProtoMajor == 2}
	if out.http2 {
		out.rest() // WriteTimeout would end a request that takes long
	}
	if r.ContentLength != 0 {
		out.body = &arriving{ReadCloser: r.Body, rc: out.rc, idle: b.bodyIdle}
		out.body.renew()
		r.Body = out.body
	}
	b.Handler.ServeHTTP(out, r)
	out.finish()
}

// bodyStep is how much of a body has to arrive before its deadline is renewed.
const bodyStep = 32 << 10

// arriving is a body with a deadline.
type arriving struct {
	io.ReadCloser
	rc      *http.ResponseController
	idle    time.Duration
	n, next int64 // bytes that have arrived; with next of them the deadline is renewed
	whole   atomic.Bool
}

func (b *arriving) renew() {
	b.next += bodyStep
	_ = b.rc.SetReadDeadline(time.Now().Add(b.idle))
}

func (b *arriving) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.n += int64(n); err == io.EOF {
		b.whole.Store(true)
		_ = b.rc.SetReadDeadline(time.Time{}) // the answer may take longer
	} else if b.n >= b.next {
		b.renew()
	}
	return n, err
}

// writeStep is how much of an answer has one deadline.
const writeStep = 64 << 10

// A boundAnswer is the writer of a response that may come before its request has
// arrived whole. Its deadline is set only during writes: over HTTP/2 one that passes
// ends a stream that has nothing to write.
type boundAnswer struct {
	http.ResponseWriter
	rc       *http.ResponseController
	idle     time.Duration
	http2    bool
	body     *arriving // nil if the request has none
	begun    bool
	wrote    bool
	hijacked bool

	mu     sync.Mutex
	due    time.Time // set by the handler
	writes bool
}

func (a *boundAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *boundAnswer) WriteHeader(status int) {
	if !a.begun && status >= http.StatusOK {
		if a.begun = true; a.body != nil && !a.http2 && !a.body.whole.Load() {
			a.Header().Set("Connection", "close")
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *boundAnswer) Write(p []byte) (n int, err error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	for a.wrote = true; ; {
		a.arm()
		m, err := a.ResponseWriter.Write(p[n:min(len(p), n+writeStep)])
		a.rest()
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError implements the flush of an http.ResponseController.
func (a *boundAnswer) FlushError() error {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	a.arm()
	defer a.rest()
	return a.rc.Flush()
}

// SetWriteDeadline implements the method of an http.ResponseController. It may be
// called from another goroutine.
func (a *boundAnswer) SetWriteDeadline(t time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due = t; a.writes {
		return a.rc.SetWriteDeadline(t)
	}
	return nil
}

// arm sets the deadline of a write.
func (a *boundAnswer) arm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	due := a.due
	if due.IsZero() {
		due = time.Now().Add(a.idle)
	}
	a.writes = true
	_ = a.rc.SetWriteDeadline(due) // test servers have none
}

// rest ends what arm began.
func (a *boundAnswer) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.writes = false; a.http2 {
		_ = a.rc.SetWriteDeadline(time.Time{})
	}
}

// finish sets the deadline of what net/http has not written yet. Over HTTP/2 only a
// body may have to wait.
func (a *boundAnswer) finish() {
	if !a.hijacked && (a.wrote || !a.http2) {
		a.arm()
	}
}

// Hijack implements http.Hijacker. net/http clears the deadlines.
func (a *boundAnswer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := a.rc.Hijack()
	a.hijacked = err == nil
	return conn, buf, err
}
