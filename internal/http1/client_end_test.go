//go:build linux || darwin

package http1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestClientBodyLeft checks that a body that is not read to its end costs the
// connection, whichever side closes it.
func TestClientBodyLeft(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, ok11+"Content-Length: 100\r\n\r\nhalf of it")
	resp := roundTrip(t, c, p.url)
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := resp.Body.Read(make([]byte, 10)) // nothing arrives for it
		read <- err
	}()
	resp.Body.Close()
	if err := <-read; !errors.Is(err, errBodyClosed) {
		t.Errorf("got %v", err)
	}
	resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 10)); !errors.Is(err, errBodyClosed) {
		t.Errorf("after it was closed: %v", err)
	}
	must.Await(t, "the connection is closed", func() bool { return p.open.Load() == 0 })
}

// TestClientContext checks that the end of the context ends an exchange at every
// point, with its cause, and that the server notices.
func TestClientContext(t *testing.T) {
	errEnough := errors.New("enough")
	for _, said := range []string{"", "HTTP/1.1 200", ok11 + "Content-Length: 100\r\n\r\nhalf", ok11 + "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf"} {
		t.Run(said, func(t *testing.T) {
			c := newTestClient(t)
			heard := make(chan struct{})
			gone := make(chan struct{})
			p := play(t, func(conn net.Conn, br *bufio.Reader) {
				_, _, _ = heardRequest(br)
				_, _ = io.WriteString(conn, said)
				close(heard)
				_, _ = br.ReadByte()
				close(gone)
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-heard
				cancel(errEnough)
			}()
			resp, err := c.RoundTrip(newPost(ctx, p.url, "{}"))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if !errors.Is(err, errEnough) {
				t.Errorf("got %v", err)
			}
			<-gone
		})
	}
	t.Run("dialling", func(t *testing.T) {
		c := newTestClient(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		c.rest.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}
		if _, err := c.RoundTrip(newPost(ctx, "http://127.0.0.1:1", "{}")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("after the answer", func(t *testing.T) {
		c := newTestClient(t)
		p := playAll(t, theNext)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := c.RoundTrip(newPost(ctx, p.url, "{}"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(resp.Body)
		cancel()
		ask(t, c, p.url, "{}")
		if n := p.conns.Load(); n != 1 {
			t.Errorf("%d connections: the end of a context reached the next request", n)
		}
	})
}

// TestClientAnsweredEarly checks that a response that arrives before the request
// has been read takes precedence over the write error.
func TestClientAnsweredEarly(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, theNext)
	dial := c.rest.DialContext
	c.rest.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &partConn{Conn: conn}, err
	}
	resp := roundTrip(t, c, p.url)
	if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Errorf("%d, %v", resp.StatusCode, err)
	}
	must.Await(t, "the connection is not kept", func() bool { return p.open.Load() == 0 })
}

// A partConn reports one byte less than it has written.
type partConn struct{ net.Conn }

func (c *partConn) Write(p []byte) (int, error) {
	n, _ := c.Conn.Write(p)
	return n - 1, net.ErrClosed
}
