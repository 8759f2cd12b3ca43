package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// A deferral is a request that waits for its answer.
type deferral struct {
	w    LaneWriter
	body string
}

// answer gives it.
func (d deferral) answer(text string) {
	d.w.JSON(200, time.Minute, append(d.w.Room(len(text)), text...))
	d.w.Finish()
}

// deferring is a handler whose lane defers everything.
func deferring() (http.HandlerFunc, <-chan deferral) {
	ch := make(chan deferral, 10)
	return laned(func(w LaneWriter, body []byte) bool {
		w.Defer()
		ch <- deferral{w, string(body)}
		return true
	}), ch
}

// open returns a connection whose next request takes the lane.
func open(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := dial(t, addr)
	r := bufio.NewReader(c)
	io.WriteString(c, post("x"))
	if got := hear(t, r); got != "handler x" {
		t.Fatalf("%q", got)
	}
	return c, r
}

// hear reads one answer.
func hear(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestDeferred(t *testing.T) {
	h, waiting := deferring()
	_, addr := serve(t, h)
	c, r := open(t, addr)
	for i := range 5 {
		io.WriteString(c, post(fmt.Sprint("body ", i)))
		d := <-waiting
		if d.body != fmt.Sprint("body ", i) {
			t.Errorf("%q", d.body)
		}
		go d.answer(fmt.Sprint("answer ", i))
		if got := hear(t, r); got != fmt.Sprint("answer ", i) {
			t.Errorf("%q", got)
		}
	}
}

func TestDeferredPipelined(t *testing.T) {
	h, waiting := deferring()
	_, addr := serve(t, h)
	c, r := open(t, addr)
	io.WriteString(c, post("1")+post("2")+post("3", "X-Other: 1\r\n"))
	first := <-waiting
	select {
	case d := <-waiting:
		t.Fatalf("%q began before the one before it was answered", d.body)
	case <-time.After(50 * time.Millisecond):
	}
	first.answer("one")
	(<-waiting).answer("two")
	for _, want := range []string{"one", "two", "handler 3"} {
		if got := hear(t, r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDeferredInPieces(t *testing.T) {
	h, waiting := deferring()
	_, addr := serve(t, h)
	c, r := open(t, addr)
	io.WriteString(c, post("x"))
	d := <-waiting
	for i := range 3 {
		fmt.Fprint(d.w, "piece ", i, ";")
		http.NewResponseController(d.w).Flush()
	}
	d.w.Finish()
	if got := hear(t, r); got != "piece 0;piece 1;piece 2;" {
		t.Errorf("%q", got)
	}
	io.WriteString(c, post("x"))
	(<-waiting).answer("again")
	if got := hear(t, r); got != "again" {
		t.Errorf("%q", got)
	}
}

func TestDeferredRecalled(t *testing.T) {
	_, addr := serve(t, laned(func(w LaneWriter, body []byte) bool {
		w.Defer()
		w.Recall()
		return echo(w, body)
	}))
	c, r := open(t, addr)
	for _, body := range []string{"a", "b", "handler's"} {
		io.WriteString(c, post(body))
		if got := hear(t, r); got != "lane "+body && got != "handler handler's" {
			t.Errorf("%q", got)
		}
	}
}

func TestDeferredClientGone(t *testing.T) {
	h, waiting := deferring()
	f, addr := serve(t, h)
	c, _ := open(t, addr)
	io.WriteString(c, post("x"))
	d := <-waiting
	ctx := d.w.Context()
	c.Close()
	<-ctx.Done()
	if context.Cause(ctx) != ErrGone {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	d.answer("nobody hears it")
	ends, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := f.Shutdown(ends); err != nil {
		t.Error(err)
	}
}

func TestDeferredLongerThanIdle(t *testing.T) {
	h, waiting := deferring()
	ln := listen(t)
	s := newServer(h)
	s.IdleTimeout = 20 * time.Millisecond
	f := NewFront(s, ln)
	done := make(chan error, 1)
	go func() { done <- f.Serve() }()
	defer func() { f.Close(); <-done }()
	c, r := open(t, ln.Addr().String())
	io.WriteString(c, post("x"))
	d := <-waiting
	<-time.After(100 * time.Millisecond)
	d.answer("late")
	if got := hear(t, r); got != "late" {
		t.Errorf("%q", got)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("an idle connection stays: %v", err)
	}
}

func TestDeferredShutdown(t *testing.T) {
	h, waiting := deferring()
	f, addr := serve(t, h)
	c, r := open(t, addr)
	io.WriteString(c, post("x"))
	d := <-waiting
	down := make(chan error, 1)
	go func() { down <- f.Shutdown(t.Context()) }()
	for !f.isEnding() {
		<-time.After(time.Millisecond)
	}
	select {
	case <-down:
		t.Fatal("it did not wait for the answer")
	case <-time.After(50 * time.Millisecond):
	}
	d.answer("last")
	if got := hear(t, r); got != "last" {
		t.Errorf("%q", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func TestDeferredSlowClient(t *testing.T) {
	h, waiting := deferring()
	_, addr := serve(t, h)
	c, r := open(t, addr)
	io.WriteString(c, post("x"))
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	d := <-waiting
	d.w.JSON(200, time.Minute, append(d.w.Room(len(text)), text...))
	returned := make(chan struct{})
	go func() {
		d.w.Finish()
		close(returned)
	}()
	<-returned // though nobody reads
	if got := hear(t, r); got != string(text) {
		t.Errorf("%d bytes came", len(got))
	}
	io.WriteString(c, post("x"))
	(<-waiting).answer("again")
	if got := hear(t, r); got != "again" {
		t.Errorf("%q", got)
	}
}

func TestRecalledClientGone(t *testing.T) {
	ended := make(chan error, 1)
	_, addr := serve(t, laned(func(w LaneWriter, _ []byte) bool {
		w.Defer()
		w.Recall() // it is waited for after all
		ctx := w.Context()
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return true
	}))
	c, _ := open(t, addr)
	io.WriteString(c, post("x"))
	c.Close()
	if err := <-ended; err != ErrGone {
		t.Errorf("cause %v", err)
	}
}

// TestDeferredWhileWatched defers so late that somebody has begun to look
// whether the client is still there.
func TestDeferredWhileWatched(t *testing.T) {
	waiting := make(chan deferral, 10)
	_, addr := serve(t, laned(func(w LaneWriter, body []byte) bool {
		<-time.After(3 * watchAfter)
		w.Defer()
		waiting <- deferral{w, string(body)}
		return true
	}))
	c, r := open(t, addr)
	for i := range 3 {
		io.WriteString(c, post(fmt.Sprint("body ", i)))
		d := <-waiting
		if d.body != fmt.Sprint("body ", i) {
			t.Errorf("%q", d.body)
		}
		d.answer("answer to " + d.body)
		if got := hear(t, r); got != "answer to "+d.body {
			t.Errorf("%q", got)
		}
	}
}

// TestDeferredThenIdle counts the time that a connection may be idle from the
// answer on.
func TestDeferredThenIdle(t *testing.T) {
	h, waiting := deferring()
	ln := listen(t)
	s := newServer(h)
	s.IdleTimeout = time.Second
	f := NewFront(s, ln)
	done := make(chan error, 1)
	go func() { done <- f.Serve() }()
	defer func() { f.Close(); <-done }()
	c, r := open(t, ln.Addr().String())
	for range 2 {
		io.WriteString(c, post("x"))
		d := <-waiting
		<-time.After(800 * time.Millisecond)
		d.answer("late")
		if got := hear(t, r); got != "late" {
			t.Fatalf("%q", got)
		}
		<-time.After(400 * time.Millisecond)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("an idle connection stays: %v", err)
	}
}
