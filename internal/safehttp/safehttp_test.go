package safehttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// canary is a listener on this machine to which no request may connect.
func canary(t *testing.T) (port string, connections *atomic.Int32) {
	t.Helper()
	l := must.Listen(t)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, connectionsTo(t, l)
}

// connectionsTo counts the connections to a listener. It closes each at once.
func connectionsTo(t *testing.T, l net.Listener) *atomic.Int32 {
	connections := new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return connections
}

// forms are ways to write this machine, its network or their aliases, and URLs that
// must not be fetched.
func forms(t testing.TB, port string) (list []string) {
	t.Helper()
	text := must.Read(t, "testdata/forms.txt")
	for line := range strings.Lines(text) {
		form, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, strings.ReplaceAll(form, "PORT", port))
	}
	return list
}

// fault/T27
func TestForbiddenURLs(t *testing.T) {
	port, connections := canary(t)
	here4 := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	c := NewClient(Options{Resolver: nameServer(t, func() []netip.Addr { return here4 })}) // every name resolves to this machine
	defer c.CloseIdleConnections()
	all := forms(t, port)
	for _, form := range all {
		t.Run("fault/T27/"+form, func(t *testing.T) {
			resp, err := c.Get(form)
			if err == nil {
				resp.Body.Close()
				t.Errorf("fetched, status %d", resp.StatusCode)
			}
		})
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("fault/T27: %d connections to the canary", n)
	}
	t.Logf("%d forms", len(all))
}

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.15.255.255": true, "172.32.0.1": true, "100.63.255.255": true, "100.128.0.1": true,
		"2606:4700::1111": true, "2a00:1450:4001::1": true, "2001:200::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "::1": false, "::ffff:8.8.8.8": false, "64:ff9b::808:808": false, "2002:808:808::": false,
		"fe80::1%eth0": false, "2001:db8::1": false, "4000::1": false, "192.168.1.1": false,
	} {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("Public(%s) = %v", text, got)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

// loopbackServers returns a TLS and a plain server, and a client that may connect
// to them.
func loopbackServers(t *testing.T, h http.HandlerFunc) (secure, plain *httptest.Server, c *http.Client) {
	t.Helper()
	secure, plain = httptest.NewTLSServer(h), httptest.NewServer(h)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	c = NewClient(Options{Allow: Loopback, RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	t.Cleanup(c.CloseIdleConnections)
	return secure, plain, c
}

func TestAllowedLoopback(t *testing.T) {
	secure, plain, c := loopbackServers(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Error("asked for compression")
		}
		fmt.Fprint(w, "hello")
	})
	localhost := strings.Replace(plain.URL, "127.0.0.1", "localhost", 1)
	for _, target := range []string{secure.URL, plain.URL, localhost} {
		resp, err := c.Get(target)
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "hello" || err != nil {
			t.Errorf("%s: %q, %v", target, body, err)
		}
	}
	untrusting := NewClient(Options{Allow: Loopback})
	if resp, err := untrusting.Get(secure.URL); err == nil {
		resp.Body.Close()
		t.Error("a certificate of nobody was accepted")
	}
	if err := CheckURL("http://192.168.0.1/", Options{Allow: prefixes("192.168.0.0/16")}); !errors.As(err, new(*RefusedError)) {
		t.Error("plain http beyond this machine was accepted")
	}
}

func TestBodyLimit(t *testing.T) {
	secure, _, c := loopbackServers(t, func(w http.ResponseWriter, r *http.Request) {
		var size int
		fmt.Sscan(r.URL.Query().Get("size"), &size)
		if r.URL.Query().Get("length") != "" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		io.CopyN(w, zeros{}, int64(size))
	})
	for _, tt := range []struct {
		query string
		ok    bool
	}{
		{fmt.Sprintf("size=%d", MaxBody), true}, {fmt.Sprintf("size=%d", MaxBody+1), false},
		{fmt.Sprintf("size=%d&length=1", MaxBody), true}, {fmt.Sprintf("size=%d&length=1", MaxBody+1), false},
	} {
		read, err := fetch(c, secure.URL+"?"+tt.query)
		if tt.ok && (err != nil || read != MaxBody) || !tt.ok && (err == nil || !strings.Contains(err.Error(), ErrTooLarge.Error()) || read > MaxBody) {
			t.Errorf("%s: read %d, %v", tt.query, read, err)
		}
	}
	t.Run("of its own", func(t *testing.T) {
		c := NewClient(Options{Allow: Loopback, RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MaxBody: 100})
		for _, query := range []string{"size=101", "size=101&length=1"} {
			if _, err := fetch(c, secure.URL+"?"+query); err == nil || !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "larger than 100 bytes") {
				t.Errorf("%s: %v", query, err)
			}
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func fetch(c *http.Client, target string) (int, error) {
	resp, err := c.Get(target)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return len(body), err
}

func FuzzURLGuard(f *testing.F) {
	for _, form := range forms(f, "1") {
		f.Add(form)
	}
	f.Add("https://example.com/a?b#c")
	f.Fuzz(func(t *testing.T, raw string) {
		if CheckURL(raw, Options{}) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
			t.Fatalf("accepted %q", raw)
		}
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil && !Public(addr) {
			t.Fatalf("accepted %q, which is %s", raw, addr)
		}
		if ip := net.ParseIP(strings.TrimSuffix(u.Hostname(), ".")); ip != nil {
			if addr, _ := netip.AddrFromSlice(ip); !Public(addr.Unmap()) {
				t.Fatalf("accepted %q, which is %s", raw, ip)
			}
		}
	})
}
