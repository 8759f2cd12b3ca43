package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A boundServer is a bounded server on plain TCP or TLS.
type boundServer struct {
	address string
	secure  bool
}

// bounded runs h on a Server, and over TLS on an http.Server, with the same limits.
func bounded(t *testing.T, h http.HandlerFunc, test func(*testing.T, boundServer)) {
	t.Run("plain", func(t *testing.T) {
		std := newStd(h)
		Bound(std, 200*time.Millisecond)
		_, address := serveStd(t, std)
		test(t, boundServer{address, false})
	})
	t.Run("tls", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(nil)
		srv.Config, srv.EnableHTTP2 = newStd(h), true
		Bound(srv.Config, 200*time.Millisecond)
		srv.StartTLS()
		t.Cleanup(srv.Close)
		test(t, boundServer{srv.Listener.Addr().String(), true})
	})
}

// dial opens a connection of HTTP/1.1.
func (s boundServer) dial(t *testing.T) net.Conn {
	c := dial(t, s.address)
	if s.secure {
		return tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	return c
}

// TestUnknownExpect checks that a connection ends if net/http itself refuses a
// request whose body does not arrive.
func TestUnknownExpect(t *testing.T) {
	bounded(t, answers, func(t *testing.T, s boundServer) {
		for name, framing := range map[string]string{"length": "Content-Length: 100", "chunked": "Transfer-Encoding: chunked"} {
			t.Run(name, func(t *testing.T) {
				c := s.dial(t)
				io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: a\r\nExpect: x\r\n"+framing+"\r\n\r\n")
				if got, err := io.ReadAll(c); len(got) == 0 || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
	})
}

// TestLongAnswer checks that a request without a body may take longer than a body.
func TestLongAnswer(t *testing.T) {
	bounded(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Errorf("%s: %v", r.Proto, r.Context().Err())
		case <-time.After(500 * time.Millisecond):
		}
	}, func(t *testing.T, s boundServer) {
		c := s.dial(t)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if got, err := io.ReadAll(c); len(got) == 0 || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

// overHTTP2 runs h in a bubble, with limits of 30 s. The Transport keeps 64 KB of
// each answer that is not read.
func overHTTP2(t *testing.T, h http.HandlerFunc, test func(*testing.T, *http.Transport)) {
	synctest.Test(t, func(t *testing.T) {
		both := new(http.Protocols)
		both.SetHTTP1(true)
		both.SetUnencryptedHTTP2(true)
		std := newStd(h)
		std.Protocols = both
		Bound(std, 30*time.Second)
		over := &handedOver{addr: &net.TCPAddr{}, conns: make(chan net.Conn), closed: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- std.Serve(over) }()
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		test(t, &http.Transport{
			Protocols: only, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				over.conns <- theirs
				return ours, nil
			},
		})
		std.Close()
		<-served
	})
}

// TestBodiesOverHTTP2 checks that a body may be slow, but may not stall.
func TestBodiesOverHTTP2(t *testing.T) {
	overHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, errors.Is(err, os.ErrDeadlineExceeded))
	}, func(t *testing.T, tr *http.Transport) {
		body, client := io.Pipe()
		go func() {
			for range 10 {
				<-time.After(20 * time.Second)
				client.Write(make([]byte, bodyStep))
			}
		}()
		begun := time.Now()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", body)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if want := fmt.Sprint(10*bodyStep, true); string(got) != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
		if took := time.Since(begun); took != 230*time.Second {
			t.Errorf("answered after %v", took)
		}
	})
}

// TestEmptyBodyOverHTTP2 checks a body that is said to be empty, but does not end.
func TestEmptyBodyOverHTTP2(t *testing.T) {
	bounded(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}, func(t *testing.T, s boundServer) {
		if !s.secure {
			return
		}
		c := tls.Client(dial(t, s.address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		head := "\x83\x87\x84\x01\x01a\x0f\x0d\x010" // POST https://a/, Content-Length 0
		io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frameOf(4, 0, 0, "")+frameOf(1, 4, 1, head))
		for kind := byte(0); kind != 1; { // until the header of the answer
			f := make([]byte, 9)
			if _, err := io.ReadFull(c, f); err != nil {
				t.Fatal(err)
			}
			kind = f[3]
			io.CopyN(io.Discard, c, int64(f[1])<<8|int64(f[2]))
		}
	})
}

// frameOf returns a short frame of HTTP/2.
func frameOf(kind, flags, stream byte, payload string) string {
	return string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, stream}) + payload
}
