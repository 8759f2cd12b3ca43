package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestParked(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, nil)
	c := client()
	for i, size := range []int{0, 1, 10, 3000, 100, 2} {
		if body := strings.Repeat(fmt.Sprint(i), size); !c.ask(t, body).begun {
			t.Errorf("%d bytes were not begun in a loop", size)
		}
	}
	f.awaitCounted(t, 1, 1)
}

func TestParkedOtherHead(t *testing.T) {
	_, client := serveParked(t, nil)
	c := client()
	for range 3 {
		io.WriteString(c, post("other", "X-Other: 1\r\n"))
		c.hear(t, "handler other")
		io.WriteString(c, post("back"))
		c.hear(t, "handler back")
		c.settle(t)
	}
}

func TestParkedPipelined(t *testing.T) {
	_, client := serveParked(t, nil)
	c := client()
	bodies := []string{"1", "22", "333"}
	for _, first := range []string{"", "first"} { // with and without a request that runs
		var running []parkCall
		want := bodies
		if first != "" {
			running, want = append(running, c.send(t, first)), append([]string{first}, bodies...)
		}
		io.WriteString(c, post("1")+post("22")+post("333"))
		for i, body := range want {
			if i == len(running) {
				running = append(running, c.call(t, body))
			}
			select {
			case call := <-c.calls:
				t.Fatalf("%q began before %q was answered", call.body, body)
			case <-time.After(20 * time.Millisecond):
			}
			running[i].answer("answer to " + body)
			c.hear(t, "answer to "+body)
		}
		c.settle(t)
	}
}

// leave is every way in which a client can.
var leave = map[string]func(net.Conn){
	"close": func(c net.Conn) { c.Close() },
	"reset": func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() },
	"half":  func(c net.Conn) { c.(*net.TCPConn).CloseWrite() },
}

func TestParkedClientLeaves(t *testing.T) {
	noPlaces(t)
	for how, leaves := range leave {
		t.Run(how, func(t *testing.T) {
			f, client := serveParked(t, nil)
			idle, busy, said := client(), client(), client()
			leaves(idle.Conn)
			call := busy.send(t, "busy")
			ctx := call.w.Context()
			leaves(busy.Conn)
			<-ctx.Done()
			if context.Cause(ctx) != ErrGone {
				t.Errorf("cause %v", context.Cause(ctx))
			}
			call.answer("too late")
			if how == "half" {
				busy.hear(t, "too late")
				io.WriteString(said, post("last words"))
				leaves(said.Conn)
				busy.call(t, "last words").answer("yes")
				said.hear(t, "yes")
				said.ended(t)
			} else {
				leaves(said.Conn)
			}
			f.awaitCounted(t, 0, 0)
		})
	}
}

func TestParkedInPieces(t *testing.T) {
	f, client := serveParked(t, nil)
	said := post("in pieces")
	for at := 1; at < len(said); at += 7 {
		c := client()
		io.WriteString(c, said[:at])
		f.awaitCounted(t, 1, 0) // it has been read
		io.WriteString(c, said[at:])
		if at >= len(said)-len("in pieces") {
			c.hear(t, "handler in pieces") // it can wait for the body
			c.settle(t)
		} else {
			c.call(t, "in pieces").answer("answer")
			c.hear(t, "answer")
			c.settle(t)
		}
		c.Close()
		f.awaitCounted(t, 0, 0)
	}
}

func TestParkedSizes(t *testing.T) {
	_, client := serveParked(t, nil)
	c := client()
	for _, size := range []int{readSize - 1, readSize, readSize + 1, 2 * readSize, 40 * readSize} {
		body := strings.Repeat("x", size-len(post(strings.Repeat("x", 1000)))+1000)
		if size > 9999 {
			body = body[2:] // of the length
		}
		if size > readSize {
			io.WriteString(c, post(body))
			c.hear(t, "handler "+body)
		} else if call := c.ask(t, body); call.begun != (size < readSize) {
			t.Errorf("%d bytes begun in a loop: %v", size, call.begun)
		}
		c.settle(t)
	}
}

func TestParkedPanic(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, func(body string) bool {
		if body == "panic" {
			panic("on purpose")
		}
		return true
	})
	bystanders := []*parkedClient{client(), client(), client(), client()} // on every loop
	for range 5 {
		c := client()
		io.WriteString(c, post("panic"))
		c.ended(t)
		f.awaitCounted(t, len(bystanders), len(bystanders))
	}
	for _, c := range bystanders {
		if !c.ask(t, "still here").begun {
			t.Error("a bystander was not begun")
		}
	}
}

func TestParkedIdle(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, nil, func(s *http.Server) { s.IdleTimeout = 400 * time.Millisecond })
	idle, busy := client(), client()
	call := busy.send(t, "takes long")
	since := time.Now()
	idle.ended(t)
	if d := time.Since(since); d < 200*time.Millisecond || d > 5*time.Second {
		t.Errorf("closed after %v", d)
	}
	f.awaitCounted(t, 1, 1)
	call.answer("late")
	busy.hear(t, "late")
	since = time.Now()
	busy.ended(t)
	if d := time.Since(since); d < 300*time.Millisecond {
		t.Errorf("closed %v after its answer", d)
	}
	f.awaitCounted(t, 0, 0)
}

// A lane hears that its connection is idle, and is used again afterwards.
func TestParkedLaneIdle(t *testing.T) {
	noPlaces(t)
	_, client := serveParked(t, nil, func(s *http.Server) { s.IdleTimeout = 2 * time.Second })
	c := client()
	call := c.send(t, "takes long")
	select {
	case <-c.idle:
		t.Error("idle while it is answered")
	case <-time.After(time.Second):
	}
	call.answer("late")
	c.hear(t, "late")
	<-c.idle
	if !c.ask(t, "again").begun {
		t.Error("it was not begun")
	}
}

func TestParkedShutdown(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, nil)
	idle, busy, refused := client(), client(), client()
	call := busy.send(t, "busy")
	down := make(chan error, 1)
	go func() { down <- f.Shutdown(t.Context()) }()
	idle.ended(t)
	refused.ended(t)
	select {
	case <-down:
		t.Fatal("it did not wait for the answer")
	case <-time.After(20 * time.Millisecond):
	}
	call.answer("last")
	busy.hear(t, "last")
	busy.ended(t)
	if err := <-down; err != nil {
		t.Error(err)
	}
	f.awaitCounted(t, 0, 0)
}

func TestParkedClose(t *testing.T) {
	noPlaces(t)
	f, client := serveParked(t, nil)
	idle, busy := client(), client()
	call := busy.send(t, "busy")
	ctx := call.w.Context()
	f.Close()
	<-ctx.Done()
	if context.Cause(ctx) != ErrGone {
		t.Errorf("cause %v", context.Cause(ctx))
	}
	idle.ended(t)
	busy.ended(t)
	call.answer("nobody hears it")
	f.awaitCounted(t, 0, 0)
}
