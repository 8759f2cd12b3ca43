package http1

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Bound makes std end requests that make no progress. A body that stalls for
// bodyIdle fails. Over HTTP/1 a request whose body has not arrived whole is answered
// at once, on a connection that is then closed: by itself net/http reads up to 256 KB
// of a body before it answers, and waits for them as long as the client likes.
func Bound(std *http.Server, bodyIdle time.Duration) {
	std.Handler = &bound{std.Handler, bodyIdle}
	// For what net/http answers itself, such as an unknown Expect. It is no limit for
	// requests without a body: net/http clears it when the body has arrived.
	std.ReadTimeout = bodyIdle
}

type bound struct {
	http.Handler
	bodyIdle time.Duration
}

func (b *bound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		body := &arriving{ReadCloser: r.Body, rc: http.NewResponseController(w), idle: b.bodyIdle}
		body.renew()
		if r.Body = body; r.ProtoMajor == 1 {
			w = &early{ResponseWriter: w, body: body}
		}
	}
	b.Handler.ServeHTTP(w, r)
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

// early is the writer of a response that may come before its request has arrived
// whole.
type early struct {
	http.ResponseWriter
	body *arriving
	done bool
}

func (e *early) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *early) WriteHeader(status int) {
	if !e.done && status >= http.StatusOK {
		if e.done = true; !e.body.whole.Load() {
			e.Header().Set("Connection", "close")
		}
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *early) Write(p []byte) (int, error) {
	if !e.done {
		e.WriteHeader(http.StatusOK)
	}
	return e.ResponseWriter.Write(p)
}
