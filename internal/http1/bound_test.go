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
	"strings"
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
		Bound(std, 200*time.Millisecond, 200*time.Millisecond)
		_, address := serveStd(t, std)
		test(t, boundServer{address, false})
	})
	t.Run("tls", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(nil)
		srv.Config, srv.EnableHTTP2 = newStd(h), true
		Bound(srv.Config, 200*time.Millisecond, 200*time.Millisecond)
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

// ways are how a request is answered: by this package, by net/http, over HTTP/2.
var ways = map[string]struct {
	method string
	http2  bool
}{"own": {http.MethodPost, false}, "net/http": {http.MethodGet, false}, "http2": {http.MethodGet, true}}

// bubble runs h in a bubble, with limits of 30 s. The network has no buffers; with
// HTTP/2 the client keeps 64 KB of each answer.
func bubble(t *testing.T, http2 bool, h http.HandlerFunc, test func(*testing.T, *http.Transport)) {
	synctest.Test(t, func(t *testing.T) {
		std := newStd(h)
		std.Protocols = new(http.Protocols)
		std.Protocols.SetHTTP1(true)
		std.Protocols.SetUnencryptedHTTP2(true)
		Bound(std, 30*time.Second, 30*time.Second)
		srv := NewServer(std)
		ln := &handedOver{addr: &net.TCPAddr{}, conns: make(chan net.Conn), closed: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		only := new(http.Protocols)
		only.SetHTTP1(!http2)
		only.SetUnencryptedHTTP2(http2)
		tr := &http.Transport{
			Protocols: only, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				ln.conns <- theirs
				return ours, nil
			},
		}
		test(t, tr)
		tr.CloseIdleConnections()
		srv.Close()
		<-served
	})
}

// begin sends a request without a body and returns when its answer begins.
func begin(t *testing.T, tr *http.Transport, method string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://a/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestSlowReader checks that an answer may take long while its client reads.
func TestSlowReader(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			const parts = 16
			bubble(t, way.http2, func(w http.ResponseWriter, _ *http.Request) {
				w.Write(make([]byte, parts*writeStep))
			}, func(t *testing.T, tr *http.Transport) {
				resp := begin(t, tr, way.method)
				defer resp.Body.Close()
				for i := range parts {
					<-time.After(20 * time.Second)
					if _, err := io.ReadFull(resp.Body, make([]byte, writeStep)); err != nil {
						t.Fatalf("part %d: %v", i, err)
					}
				}
			})
		})
	}
}

// TestNoReader checks that an answer fails that nobody reads.
func TestNoReader(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var ended chan error
			bubble(t, way.http2, func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 1<<20))
				ended <- err
			}, func(t *testing.T, tr *http.Transport) {
				ended = make(chan error, 1) // it belongs to the bubble
				resp, begun := begin(t, tr, way.method), time.Now()
				if err := <-ended; err == nil {
					t.Error("the answer is written")
				}
				if took := time.Since(begun); took != 30*time.Second {
					t.Errorf("after %v", took)
				}
				if _, err := io.ReadAll(resp.Body); err == nil {
					t.Error("the answer is complete")
				}
			})
		})
	}
}

// TestQuietAnswer checks that an answer may pause, before it begins and later.
func TestQuietAnswer(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			bubble(t, way.http2, func(w http.ResponseWriter, r *http.Request) {
				rc := http.NewResponseController(w)
				for range 3 {
					select {
					case <-r.Context().Done():
						t.Error(context.Cause(r.Context()))
					case <-time.After(time.Hour):
					}
					rc.SetWriteDeadline(time.Now().Add(time.Minute))
					w.Write(make([]byte, 2*writeStep))
					rc.Flush()
				}
			}, func(t *testing.T, tr *http.Transport) {
				resp := begin(t, tr, way.method)
				if n, err := io.Copy(io.Discard, resp.Body); n != 6*writeStep || err != nil {
					t.Errorf("%d bytes, %v", n, err)
				}
			})
		})
	}
}

// TestUnreadAnswers checks that a connection ends if its client sends requests and
// reads no answers.
func TestUnreadAnswers(t *testing.T) {
	bounded(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, strings.Repeat("x", 10_000))
	}, func(t *testing.T, s boundServer) {
		for name, request := range map[string]string{"own": post(""), "net/http": "GET / HTTP/1.1\r\nHost: a\r\n\r\n"} {
			t.Run(name, func(t *testing.T) {
				c := s.dial(t)
				for {
					_, err := io.WriteString(c, strings.Repeat(request, 100))
					if errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error("the connection is open")
					}
					if err != nil {
						break
					}
				}
			})
		}
	})
}

// TestUnreadStream checks that a stream of HTTP/2 ends if its client takes none of a
// short answer.
func TestUnreadStream(t *testing.T) {
	bounded(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "x")
	}, func(t *testing.T, s boundServer) {
		if s.secure {
			c := s.frames(t, "\x00\x04\x00\x00\x00\x00", "\x82\x87\x84\x01\x01a", true) // no window, GET https://a/
			c.until(t, 3)
		}
	})
}

// TestBodiesOverHTTP2 checks that a body may be slow, but may not stall.
func TestBodiesOverHTTP2(t *testing.T) {
	bubble(t, true, func(w http.ResponseWriter, r *http.Request) {
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
		if s.secure {
			c := s.frames(t, "", "\x83\x87\x84\x01\x01a\x0f\x0d\x010", false) // POST https://a/, Content-Length 0
			c.until(t, 1)
		}
	})
}

// TestLargeFrame checks that a frame of HTTP/2 that has not arrived whole cannot keep
// much memory: it is refused by its size.
func TestLargeFrame(t *testing.T) {
	bounded(t, answers, func(t *testing.T, s boundServer) {
		if s.secure {
			c := s.frames(t, "", "\x82\x87\x84\x01\x01a", true)
			io.WriteString(c, "\x00\x40\x01\x00\x00\x00\x00\x00\x01") // 16 KB and a byte of a body
			c.until(t, 7)
		}
	})
}

// frames is a connection of HTTP/2 that answers nothing.
type frames struct{ net.Conn }

// frames sends the settings and the head of a request; end says that it has no body.
func (s boundServer) frames(t *testing.T, settings, head string, end bool) frames {
	flags := byte(4)
	if end {
		flags |= 1
	}
	c := frames{tls.Client(dial(t, s.address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})}
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+frameOf(4, 0, 0, settings)+frameOf(1, flags, 1, head))
	return c
}

// until reads frames until one has the kind: 1 begins an answer, 3 resets a stream, 7
// ends the connection.
func (c frames) until(t *testing.T, kind byte) {
	t.Helper()
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(c, head); err != nil {
			t.Fatal(err)
		}
		if head[3] == kind {
			return
		}
		io.CopyN(io.Discard, c, int64(head[1])<<8|int64(head[2]))
	}
}

// frameOf returns a short frame of HTTP/2.
func frameOf(kind, flags, stream byte, payload string) string {
	return string([]byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, stream}) + payload
}
