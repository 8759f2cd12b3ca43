package http1

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// serve runs a Server and returns its address.
func serve(t *testing.T, h http.HandlerFunc) (*Server, string) {
	t.Helper()
	return serveStd(t, newStd(h))
}

// serveStd is serve with more settings.
func serveStd(t *testing.T, std *http.Server) (*Server, string) {
	t.Helper()
	ln := must.Listen(t)
	f := NewServer(std)
	done := make(chan error, 1)
	go func() { done <- f.Serve(ln) }()
	t.Cleanup(func() {
		f.Close()
		if err := <-done; err != http.ErrServerClosed {
			t.Errorf("serving ended with %v", err)
		}
	})
	return f, ln.Addr().String()
}

func newStd(h http.HandlerFunc) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 300 * time.Millisecond, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: log.New(io.Discard, "", 0),
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func post(body string, fields ...string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n%s\r\n%s", len(body), strings.Join(fields, ""), body)
}

// answers responds in every way that handlers do.
func answers(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	rc := http.NewResponseController(w)
	w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %d %v", r.Method, r.URL, r.Host, r.ContentLength, err))
	switch r.Header.Get("X-How") {
	case "large":
		w.Header().Set("Content-Length", fmt.Sprint(300_000))
		for range 3 {
			w.Write(bytes.Repeat([]byte("l"), 100_000))
		}
	case "unknown":
		for range 3 {
			w.Write(bytes.Repeat([]byte("u"), 100_000))
		}
	case "stream":
		w.Header().Set("Content-Type", "text/event-stream")
		rc.Flush()
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			rc.Flush()
		}
	case "accepted":
		w.WriteHeader(http.StatusAccepted)
	case "none":
		w.WriteHeader(http.StatusNoContent)
	case "error":
		w.Header().Set("X-Bad", "a\r\nX-Injected: b")
		http.Error(w, "wrong", http.StatusBadRequest)
	case "close":
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "too much")
	case "panic":
		panic("told to")
	default:
		w.Write(body)
	}
}

// conversations are the bytes that a client sends on one connection.
var conversations = map[string]string{
	"one":               post(`{"a":1}`),
	"three at once":     post("1") + post("22") + post("333"),
	"empty":             post(""),
	"large body":        post(strings.Repeat("b", 200_000)) + post("after"),
	"every answer":      post("", "X-How: large\r\n") + post("x", "X-How: unknown\r\n") + post("", "X-How: stream\r\n") + post("", "X-How: accepted\r\n") + post("", "X-How: none\r\n") + post("", "X-How: error\r\n") + post("end"),
	"closed":            post("", "X-How: close\r\n") + post("never"),
	"panic":             post("", "X-How: panic\r\n") + post("never"),
	"then a GET":        post("1") + "GET /mcp HTTP/1.1\r\nHost: a\r\n\r\n" + post("3"),
	"then chunks":       post("1") + "POST /mcp HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + post("3"),
	"then an upgrade":   post("1") + post("2", "Upgrade: h2c\r\n", "Connection: upgrade\r\n"),
	"then close":        post("1") + post("2", "Connection: close\r\n") + post("never"),
	"then 1.0":          post("1") + "POST /mcp HTTP/1.0\r\nContent-Length: 1\r\n\r\nx",
	"then nonsense":     post("1") + "\x16\x03\x01nonsense\r\n\r\n",
	"smuggled":          post("1") + "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + post("2"),
	"two lengths":       post("1") + "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
	"line break behind": post("1") + "\r\n" + post("2") + "\r\n\r\n\r\n" + post("3"),
	"a byte behind":     post("1") + "x",
	"wrong half head":   post("1") + "POST /mcp HTTP/1.1\r\nHost a\r\n\n",
	"body not complete": "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
}

// TestServerLikeNetHTTP checks that clients cannot distinguish the Server from
// net/http.
func TestServerLikeNetHTTP(t *testing.T) {
	_, ours := serve(t, answers)
	ln := must.Listen(t)
	plain := newStd(answers)
	go plain.Serve(ln)
	t.Cleanup(func() { plain.Close() })
	for name, said := range conversations {
		t.Run(name, func(t *testing.T) {
			got, want := talk(t, ours, said), talk(t, ln.Addr().String(), said)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// talk sends said and returns all responses.
func talk(t *testing.T, addr, said string) (answers []string) {
	t.Helper()
	c := dial(t, addr)
	go func() {
		io.WriteString(c, said)
		c.(*net.TCPConn).CloseWrite()
	}()
	for r := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodPost})
		if err != nil {
			return answers
		}
		body, err := io.ReadAll(resp.Body)
		if resp.Header.Get("Date") == "" && resp.StatusCode < 400 {
			t.Error("an answer without Date")
		}
		resp.Header.Del("Date")
		if resp.Header.Get("Content-Type") == "text/plain; charset=utf-8" {
			resp.Header.Del("Content-Type") // net/http guesses it
		}
		// No request can follow an incomplete body, whether the response says so or
		// not.
		last := resp.Close || strings.Contains(resp.Header.Get("X-Seen"), "EOF")
		answers = append(answers, fmt.Sprintf("%d %v close=%v %d bytes %.40q %v", resp.StatusCode, resp.Header, last, len(body), body, err))
	}
}

func TestServerDisconnect(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.ReadAll(r.Body)
		close(began)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})
	c := dial(t, addr)
	io.WriteString(c, post("x"))
	<-began
	c.Close()
	must.Receive(t, "the end of the handler", ended)
}

// TestServerPipelined checks that data that arrives while a long request runs is
// the next request.
func TestServerPipelined(t *testing.T) {
	release := make(chan struct{})
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "long" {
			<-release
		}
		w.Write(body)
	})
	c := dial(t, addr)
	io.WriteString(c, post("long"))
	wait := time.AfterFunc(3*watchAfter, func() {
		io.WriteString(c, post("next"))
		close(release)
	})
	defer wait.Stop()
	r := bufio.NewReader(c)
	for _, want := range []string{"long", "next"} {
		wantBody(t, r, want)
	}
}

// TestServerPipelinedEnd checks that a client that has sent its requests and closed
// its side for writing gets all responses, as from net/http, even if the first takes
// long.
func TestServerPipelinedEnd(t *testing.T) {
	sent, swept := make(chan struct{}), make(chan *Server, 1)
	f, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "long" {
			<-sent
			f := <-swept
			for from := f.sweeps.Load(); f.sweeps.Load() < from+3; {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Millisecond):
				}
			}
		}
		w.Write(body)
	})
	swept <- f
	c := dial(t, addr)
	io.WriteString(c, post("long")+post("next"))
	c.(*net.TCPConn).CloseWrite()
	close(sent)
	r := bufio.NewReader(c)
	for _, want := range []string{"long", "next"} {
		wantBody(t, r, want)
	}
}

func TestServerShutdown(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	f, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "long" {
			close(began)
			<-release
		}
		io.WriteString(w, "answered")
	})
	idle, busy := dial(t, addr), dial(t, addr)
	io.WriteString(idle, post("x"))
	if _, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil {
		t.Fatal(err)
	}
	io.WriteString(busy, post("long"))
	<-began
	ended := make(chan error, 1)
	go func() { ended <- f.Shutdown(t.Context()) }()
	if n, err := idle.Read(make([]byte, 100)); err != nil && err != io.EOF {
		t.Errorf("the idle connection: %d, %v", n, err)
	}
	close(release)
	wantBody(t, bufio.NewReader(busy), "answered")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServerSlowHead checks that the connection of an incomplete head is closed,
// whether we or net/http read it.
func TestServerSlowHead(t *testing.T) {
	_, addr := serve(t, answers)
	for _, said := range []string{"", "P", "POST /mcp HTTP/1.1\r\nHost: a\r\n", post("1") + "POST /mcp HT"} {
		c := dial(t, addr)
		io.WriteString(c, said)
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("after %q: %v", said, err)
		}
	}
}

// TestServerDeadlines checks that the connection is closed if the client does not
// read the response, or does not send its body.
func TestServerDeadlines(t *testing.T) {
	failed := make(chan error, 2)
	_, addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		if r.ContentLength > 100 {
			rc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			_, err := io.ReadAll(r.Body)
			failed <- err
			return
		}
		for {
			rc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				failed <- err
				return
			}
		}
	})
	for _, said := range []string{post("x"), "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc"} {
		io.WriteString(dial(t, addr), said)
		var e net.Error
		if err := <-failed; !asTimeout(err, &e) {
			t.Errorf("got %v", err)
		}
	}
}

func asTimeout(err error, e *net.Error) bool {
	var ok bool
	*e, ok = err.(net.Error)
	return ok && (*e).Timeout()
}
