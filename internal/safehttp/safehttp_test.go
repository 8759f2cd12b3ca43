package safehttp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// canary is a listener on this machine that nobody may connect to.
func canary(t *testing.T) (port string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
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
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, connections
}

// hosts are ways to write this machine, its network, or what stands for them.
var hosts = []string{
	"127.0.0.1", "127.1", "127.0.1", "2130706433", "017700000001", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "0177.1",
	"127.0.0.1.", "127.000.000.001", "127.0.0.0x1", "127.255.255.254", "0", "0.0.0.0", "0x0", "00", "0.0.0.0.",
	"localhost", "LOCALHOST", "localhost.", "LocalHost.", "a.localhost", "localhost.localdomain",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:7f00:1::1]", "[2001::1]", "[2001:0:7f00:1::]",
	"[fe80::1]", "[fe80::1%25lo]", "[::1%25lo]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
	"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "192.88.99.1",
	"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
	"①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1%00.example.com", "%31%32%37.0.0.1", "localhost%2eexample.com", "ⓛocalhost", "xn--", "[::1", "::1", "127.0.0.1:",
}

// fault/T27
func TestForbiddenURLs(t *testing.T) {
	port, connections := canary(t)
	here4 := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	c := NewClient(Options{Resolver: nameServer(t, func() []netip.Addr { return here4 })}) // every name is this machine
	defer c.CloseIdleConnections()
	var forms []string
	for _, host := range hosts {
		for _, scheme := range []string{"http", "https"} {
			forms = append(forms, scheme+"://"+host+":"+port+"/x")
		}
	}
	here := "127.0.0.1:" + port
	forms = append(forms,
		"https://example.com@"+here+"/", "https://example.com:443@"+here+"/", "https://user:pass@"+here+"/", "https://"+here+"#@example.com/",
		"https://"+here+`\@example.com/`, "https://"+here+"?@example.com/", "https://example.com%40"+here+"/", "https:"+here, "https:///"+here, "//"+here,
		"file:///etc/passwd", "ftp://"+here+"/", "gopher://"+here+"/_x", "unix:///run/x.sock", "javascript:alert(1)", "data:,x", "", "https://", "https://:"+port,
		"https://"+here+"\r\nHost: x/", "https://example.com:0/", "https://example.com:99999/", "http://example.com/", "HTTP://example.com/", "ws://"+here,
	)
	for _, form := range forms {
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
	t.Logf("%d forms", len(forms))
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

// loopbackServers are a TLS and a plain server, and a client that may reach
// them.
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
	if Refused(CheckURL("http://192.168.0.1/", Options{Allow: prefixes("192.168.0.0/16")})) == nil {
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
	for _, host := range hosts {
		f.Add("https://" + host + ":1/x")
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
