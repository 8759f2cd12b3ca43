package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// End fails an exchange that waits, and costs the connection.
func TestStartEnd(t *testing.T) {
	c := newStartClient(t)
	heard := make(chan struct{})
	p := scripted(t, map[string]func(net.Conn){"act": func(net.Conn) { close(heard) }})
	ask(t, posting{c}, p.url, "{}")
	ctx, cancel := context.WithCancelCause(t.Context())
	errEnough := errors.New("enough")
	e := newErrand(ctx, t)
	if !e.begin(c, p.url, "act") {
		t.Fatal("no connection was kept")
	}
	<-heard
	cancel(errEnough)
	e.post.End()
	if got := e.outcome(); !errors.Is(got.err, errEnough) {
		t.Errorf("got %v", got)
	}
	await(t, "the connection is closed", func() bool { return p.open.Load() == 0 })
	if newErrand(t.Context(), t).begin(c, p.url, "x") {
		t.Error("it was kept")
	}
}

// A stream that does not end with its answer, and one that does not begin with
// anything, are not waited for: the connection is closed, a goroutine reads on.
func TestStartSlowStream(t *testing.T) {
	for name, tt := range map[string]struct {
		says []string
		want string
	}{
		"no end":  {[]string{"", stream11 + "9\r\nanswer it\r\n"}, "it"},
		"no more": {[]string{"", stream11 + "9\r\nanswer it\r\n", "9\r\nanswer no"}, "it"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newStartClient(t)
			p := scripted(t, map[string]func(net.Conn){"act": says(tt.says...)})
			ask(t, posting{c}, p.url, "{}")
			e := newErrand(t.Context(), t)
			if !e.begin(c, p.url, "act") || e.outcome().body != tt.want {
				t.Error("no answer")
			}
			await(t, "the connection is closed", func() bool { return p.open.Load() == 0 })
		})
	}
	t.Run("no beginning", func(t *testing.T) {
		c := newStartClient(t)
		more := make(chan struct{})
		p := scripted(t, map[string]func(net.Conn){"act": func(conn net.Conn) {
			io.WriteString(conn, stream11)
			<-more
			io.WriteString(conn, "9\r\nanswer it\r\n0\r\n\r\n")
		}})
		ask(t, posting{c}, p.url, "{}")
		e := newErrand(t.Context(), t)
		if !e.begin(c, p.url, "act") {
			t.Fatal("no connection was kept")
		}
		await(t, "a goroutine reads", func() bool { return e.told.Load() > 0 })
		close(more)
		if got := e.outcome(); got.whole || got.body != "answer it" {
			t.Errorf("got %v", got)
		}
	})
}

// A kept connection on which the server has done anything is passed over.
func TestStartStale(t *testing.T) {
	for name, act := range map[string]func(net.Conn){
		"close": leave["close"], "reset": leave["reset"], "half": leave["half"], "junk": says("\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newStartClient(t)
			var inUse, asked sync.WaitGroup
			inUse.Add(2)
			p := scripted(t, map[string]func(net.Conn){"both": func(conn net.Conn) {
				inUse.Done()
				inUse.Wait()
				io.WriteString(conn, asJSON(theNext))
			}})
			if newErrand(t.Context(), t).begin(c, p.url, "x") {
				t.Fatal("without a connection")
			}
			for range 2 {
				asked.Go(func() { keepOne(t, c, p.url, "both") })
			}
			asked.Wait()
			spoil(t, c, p, act)
			e := newErrand(t.Context(), t)
			if !e.begin(c, p.url, "x") || e.outcome().body != "next" {
				t.Fatal("the other one was not used")
			}
			spoil(t, c, p, act)
			if newErrand(t.Context(), t).begin(c, p.url, "x") {
				t.Error("a stale one was used")
			}
		})
	}
}
