package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// A gate is a listener whose connections block writes until they are released.
type gate struct {
	net.Listener
	writing, open, closed chan struct{}
	once, onceClosed      sync.Once
}

func newGate(t *testing.T) *gate {
	return &gate{Listener: must.Listen(t), writing: make(chan struct{}), open: make(chan struct{}), closed: make(chan struct{})}
}

func (g *gate) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	return &gated{c, g}, err
}

func (g *gate) Close() error {
	g.onceClosed.Do(func() { close(g.closed) })
	return g.Listener.Close()
}

type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Write(p []byte) (int, error) {
	c.gate.once.Do(func() { close(c.gate.writing) })
	<-c.gate.open
	return c.Conn.Write(p)
}

// TestServerShutdownInWrite checks that a response that is being written is
// completed.
func TestServerShutdownInWrite(t *testing.T) {
	g := newGate(t)
	f := NewServer(newStd(answers))
	go f.Serve(g)
	c := dial(t, g.Addr().String())
	io.WriteString(c, post("x")+post("not begun"))
	<-g.writing
	ended := make(chan error, 1)
	go func() { ended <- f.Shutdown(t.Context()) }()
	<-g.closed
	close(g.open)
	r := bufio.NewReader(c)
	wantBody(t, r, "x")
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("and then %q", rest)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServerShutdownFirst checks that a new connection gets one response. A request
// sent meanwhile would be lost, and a load balancer must not send it again.
func TestServerShutdownFirst(t *testing.T) {
	for name, fields := range map[string]string{"ours": "", "for net/http": "Connection: close\r\n"} {
		t.Run("fault/T46 a request on its way, "+name, func(t *testing.T) {
			g := newGate(t)
			close(g.open)
			std := newStd(answers)
			connected := make(chan struct{}, 8)
			std.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateNew {
					connected <- struct{}{}
				}
			}
			f := NewServer(std)
			go f.Serve(g)
			asks, silent := dial(t, g.Addr().String()), dial(t, g.Addr().String())
			<-connected
			<-connected
			ended := make(chan error, 1)
			go func() { ended <- f.Shutdown(t.Context()) }()
			<-g.closed
			io.WriteString(asks, post("x", fields)+post("another"))
			r := bufio.NewReader(asks)
			wantBody(t, r, "x")
			for name, rest := range map[string]io.Reader{"the one that asked": r, "the silent one": silent} {
				if more, _ := io.ReadAll(rest); len(more) > 0 {
					t.Errorf("%s: and then %q", name, more)
				}
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServerShutdownInHead checks that a request is answered that net/http has read
// when the server shuts down, but does not answer yet.
func TestServerShutdownInHead(t *testing.T) {
	t.Run("fault/T46 a request that net/http has just read", func(t *testing.T) {
		ln := must.Listen(t)
		std := newStd(answers)
		f := NewServer(std)
		over, ended := make(chan struct{}), make(chan error, 1)
		std.RegisterOnShutdown(func() { close(over) })
		std.ConnState = func(_ net.Conn, state http.ConnState) {
			if state != http.StateActive {
				return
			}
			go func() { ended <- f.Shutdown(t.Context()) }()
			select {
			case <-over: // net/http closes what it has not begun to answer
			case <-time.After(firstWait / 8): // it waits, as it should
			}
		}
		go f.Serve(ln)
		c := dial(t, ln.Addr().String())
		io.WriteString(c, post("x", "Connection: close\r\n"))
		wantBody(t, bufio.NewReader(c), "x")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestServerShutdownLate checks that the first request may come late, as on a busy
// machine.
func TestServerShutdownLate(t *testing.T) {
	t.Run("fault/T46 a request that is late", func(t *testing.T) {
		ln := newGate(t)
		close(ln.open)
		std := newStd(answers)
		std.ReadHeaderTimeout = time.Minute
		connected := make(chan struct{}, 1)
		std.ConnState = func(net.Conn, http.ConnState) { connected <- struct{}{} }
		f := NewServer(std)
		go f.Serve(ln)
		c := dial(t, ln.Addr().String())
		<-connected
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- f.Shutdown(ctx) }()
		select {
		case <-ln.closed:
		case <-ctx.Done():
			t.Fatal("the server does not shut down")
		}
		io.WriteString(c, post("x"))
		wantBody(t, bufio.NewReader(c), "x")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestServerUnreadBody checks that the response announces the close of a connection
// whose request body the handler did not read, so that no client sends its next
// request there.
func TestServerUnreadBody(t *testing.T) {
	var seen atomic.Int32
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		if r.Header.Get("X-Flush") != "" {
			http.NewResponseController(w).Flush()
		}
		io.WriteString(w, "not you")
	})
	for _, fields := range []string{"", "X-Flush: 1\r\n"} {
		c := dial(t, addr)
		io.WriteString(c, post("at hand", fields))
		r := bufio.NewReader(c)
		answered(t, r, false)
		io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"+fields+"\r\n")
		answered(t, r, true)
		io.WriteString(c, "later"+post("never"))
		if rest, _ := io.ReadAll(r); len(rest) > 0 {
			t.Errorf("and then %q", rest)
		}
	}
	if n := seen.Load(); n != 4 {
		t.Errorf("%d requests reached the handler", n)
	}
}

// wantBody reads a response and checks its body.
func wantBody(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != want || err != nil {
		t.Errorf("got %q, %v, want %q", body, err, want)
	}
}

func answered(t *testing.T, r *bufio.Reader, last bool) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != 401 || string(body) != "not you" || err != nil || resp.Close != last {
		t.Errorf("got %d %q, %v, close %v", resp.StatusCode, body, err, resp.Close)
	}
}
