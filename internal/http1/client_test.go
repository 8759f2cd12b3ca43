//go:build linux || darwin

package http1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestClientRequest checks that the server gets the same request as from net/http.
func TestClientRequest(t *testing.T) {
	c := newTestClient(t)
	type seen struct {
		Method, URI, Proto, Host, Body string
		Header                         http.Header
		Length                         int64
	}
	got := make(chan seen, 1)
	p := play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			r, body, err := heardRequest(br)
			if err != nil {
				return
			}
			got <- seen{r.Method, r.RequestURI, r.Proto, r.Host, body, r.Header, r.ContentLength}
			if _, err := io.WriteString(conn, theNext); err != nil {
				return
			}
		}
	})
	base := strings.TrimSuffix(p.url, "/mcp")
	tests := []struct {
		name   string
		url    string
		host   string
		body   string
		header http.Header
	}{
		{"plain", p.url, "", `{"a":1}`, http.Header{"Content-Type": {"application/json"}, "User-Agent": {"x/1"}}},
		{"no path", base, "", "{}", nil},
		{"query and escapes", base + "/a%2Fb c/ü?q=1&r=%20#frag", "", "{}", nil},
		{"another host", p.url, "example.com:8080", "{}", nil},
		{"no user agent", p.url, "", "{}", http.Header{"User-Agent": {""}}},
		{"several values", p.url, "", "{}", http.Header{"X-A": {"1", " 2 ", "", "ü"}}},
		{"names of the connection", p.url, "", "{}", http.Header{"Host": {"evil"}, "Content-Length": {"99"}}},
		{"empty body", p.url, "", "", nil},
		{"30 KiB", p.url, "", strings.Repeat("x", 30<<10), nil},
		{"3 MiB", p.url, "", strings.Repeat("x", 3<<20), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var both [2]seen
			theirs := newTransport()
			defer theirs.CloseIdleConnections()
			for i, rt := range []http.RoundTripper{theirs, c} {
				req := newPost(t.Context(), tt.url, tt.body)
				req.Host = tt.host
				if tt.header != nil {
					req.Header = tt.header.Clone()
				}
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				both[i] = <-got
			}
			if diff := cmp.Diff(both[0], both[1]); diff != "" {
				t.Errorf("net/http sends (-), we send (+):\n%s", diff)
			}
		})
	}
}

// TestClientLeavesTheRest checks that net/http sends all requests but small POSTs
// without TLS, and that it refuses invalid ones.
func TestClientLeavesTheRest(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, theNext)
	plain := func() *http.Request { return newPost(t.Context(), p.url, "{}") }
	tests := map[string]func(*http.Request) *http.Request{
		"GET":               func(r *http.Request) *http.Request { r.Method = "GET"; return r },
		"https":             func(r *http.Request) *http.Request { r.URL.Scheme = "https"; return r },
		"length not known":  func(r *http.Request) *http.Request { r.ContentLength = -1; return r },
		"body not in hand":  func(r *http.Request) *http.Request { r.GetBody = nil; return r },
		"large":             func(*http.Request) *http.Request { return newPost(t.Context(), p.url, strings.Repeat("x", 40<<10)) },
		"no header":         func(r *http.Request) *http.Request { r.Header = nil; return r },
		"close":             func(r *http.Request) *http.Request { r.Close = true; return r },
		"transfer encoding": func(r *http.Request) *http.Request { r.TransferEncoding = []string{"chunked"}; return r },
		"trailer":           func(r *http.Request) *http.Request { r.Trailer = http.Header{"X": nil}; return r },
	}
	for name, change := range tests {
		if c.takes(change(plain())) {
			t.Errorf("%s: taken", name)
		}
	}
	headers := map[string]http.Header{
		"Expect":         {"Expect": {"100-continue"}},
		"Upgrade":        {"Upgrade": {"h2c"}},
		"line end":       {"X-A": {"b\r\n"}},
		"line break":     {"X-A": {"b\r\nX-Evil: 1"}},
		"zero byte":      {"X-A": {"b\x00"}},
		"bad name":       {"X A": {"b"}},
		"name with CRLF": {"X-A: b\r\nX-Evil": {"1"}},
	}
	for name, h := range headers {
		r := plain()
		r.Header = h
		if in := newClientBuffer(); in.putHead(r) {
			t.Errorf("%s: written as %q", name, in.buf)
		}
	}
	hosts := []string{"a b", "a\r\nX-Evil: 1", "[fe80::1%25eth0]", "bücher.example", "a/b"}
	for _, host := range hosts {
		r := plain()
		r.Host = host
		if in := newClientBuffer(); in.putHead(r) {
			t.Errorf("host %q: written as %q", host, in.buf)
		}
	}
	if !c.takes(plain()) {
		t.Error("a small POST is left to net/http")
	}
}

func TestClientProxy(t *testing.T) {
	c := newTestClient(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "by proxy to "+r.URL.Host)
	}))
	defer proxy.Close()
	c.rest.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(proxy.URL) }
	if _, body := ask(t, c, "http://example.invalid/mcp", "{}"); body != "by proxy to example.invalid" {
		t.Errorf("got %q", body)
	}
}

func TestClientParallel(t *testing.T) {
	c := newTestClient(t)
	p := play(t, func(conn net.Conn, br *bufio.Reader) {
		for {
			_, body, err := heardRequest(br)
			if err != nil {
				return
			}
			resp := http.Response{ProtoMajor: 1, ProtoMinor: 1, StatusCode: 200, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}
			if len(body)%2 == 0 {
				resp.ContentLength = int64(len(body))
			} else {
				resp.TransferEncoding = []string{"chunked"}
			}
			if resp.Write(conn) != nil {
				return
			}
		}
	})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for j := range 20 {
				want := strings.Repeat(string(rune('a'+i%26)), 1+i*17+j)
				if _, body := ask(t, c, p.url, want); body != want {
					t.Errorf("sent %d bytes, got %d others", len(want), len(body))
				}
			}
		})
	}
	wg.Wait()
	if n := p.conns.Load(); n > 100 {
		t.Errorf("%d connections for 100 at a time", n)
	}
	c.CloseIdleConnections()
	must.Await(t, "all connections are closed", func() bool { return p.open.Load() == 0 })
}

// TestClientWrongLength checks that a body of the wrong length is not sent.
func TestClientWrongLength(t *testing.T) {
	c := newTestClient(t)
	p := playAll(t, theNext)
	for _, length := range []int64{1, 3} {
		req := newPost(t.Context(), p.url, "{}")
		req.ContentLength = length
		var notSent *NotSentError
		if _, err := c.RoundTrip(req); !errors.As(err, &notSent) {
			t.Errorf("length %d for 2 bytes: %v", length, err)
		}
	}
	if p.conns.Load() != 0 {
		t.Error("it was sent")
	}
	req := newPost(t.Context(), p.url, "{}")
	req.Body = io.NopCloser(&failing{})
	if _, err := c.RoundTrip(req); !errors.Is(err, errFailing) {
		t.Errorf("a body that cannot be read: %v", err)
	}
}

var errFailing = errors.New("cannot be read")

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errFailing }

func TestClientDialFails(t *testing.T) {
	c := newTestClient(t)
	ln := must.Listen(t)
	ln.Close()
	_, err := c.RoundTrip(newPost(t.Context(), "http://"+ln.Addr().String(), "{}"))
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFailing)
	if _, err := c.RoundTrip(newPost(ctx, "http://"+ln.Addr().String(), "{}")); !errors.Is(err, errFailing) {
		t.Errorf("with an ended context: %v", err)
	}
}

// TestCanonical compares canonical with net/http.
func TestCanonical(t *testing.T) {
	for _, name := range []string{"Content-Type", "content-type", "CONTENT-TYPE", "Mcp-Session-Id", "mcp-session-id", "ETag", "X-", "-X", "a--b", "x_y", "1a-B2", "A"} {
		if got, ok := canonical(name); !ok || got != http.CanonicalHeaderKey(name) {
			t.Errorf("%q: %q, %v; want %q", name, got, ok, http.CanonicalHeaderKey(name))
		}
	}
	for _, name := range []string{"", " A", "A ", "A B", "A\t", "Ä", "A:"} {
		if got, ok := canonical(name); ok {
			t.Errorf("%q is taken for the name %q", name, got)
		}
	}
}
