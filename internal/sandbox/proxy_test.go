package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// client returns a client that uses the secret of a grant.
func client(t *testing.T, x *Proxy, hosts []host) (*http.Client, *http.Transport, string) {
	t.Helper()
	var p Program
	var profile Profile
	release, err := x.open(grant{server: "default/s", hosts: hosts, asks: true}, &p, &profile)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	at, err := url.Parse(getEnv(p.Env, "HTTPS_PROXY"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return &http.Client{Transport: transport}, transport, at.String()
}

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		written, name string
		port          uint16
		want          bool
	}{
		{"api.github.com", "api.github.com", 443, true},
		{"api.github.com", "api.github.com", 80, true},
		{"api.github.com", "api.github.com", 22, false},
		{"api.github.com", "github.com", 443, false},
		{"api.github.com", "xapi.github.com", 443, false},
		{"api.github.com", "api.github.com.evil.com", 443, false},
		{"*.example.com", "a.example.com", 443, true},
		{"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", ".example.com", 443, false},
		{"*.example.com", "evilexample.com", 443, false},
		{"API.example.com:8443", "api.example.com", 8443, true},
		{"api.example.com:8443", "api.example.com", 443, false},
	} {
		t.Run("install/hosts "+tt.written+" "+tt.name, func(t *testing.T) {
			if _, got := (grant{hosts: named([]string{tt.written})}).find(tt.name, tt.port); got != tt.want {
				t.Errorf("port %d: %v", tt.port, got)
			}
		})
	}
}

// TestProxyLeadsOnlyToItsHosts uses the proxy as servers do.
func TestProxyLeadsOnlyToItsHosts(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, "hello from "+r.Host)
	})
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer secure.Close()
	_, plainPort, _ := splitTarget(plain.Listener.Addr().String(), 0)
	_, securePort, _ := splitTarget(secure.Listener.Addr().String(), 0)
	var log bytes.Buffer
	x := &Proxy{Log: slog.New(slog.NewTextHandler(&log, nil))}
	defer x.Close()
	local := []host{{"localhost", plainPort, true}, {"localhost", securePort, true}}
	get := func(c *http.Client, address string) (string, error) {
		resp, err := c.Get(address)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp.Status + " " + string(body), err
	}
	port := func(s *httptest.Server) string { _, p, _ := net.SplitHostPort(s.Listener.Addr().String()); return p }
	allowed, transport, at := client(t, x, local)

	t.Run("install/hosts over http", func(t *testing.T) {
		if got, err := get(allowed, "http://localhost:"+port(plain)); err != nil || got != "200 OK hello from localhost:"+port(plain) {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("install/hosts over https", func(t *testing.T) {
		if got, err := get(allowed, "https://localhost:"+port(secure)); err != nil || got != "200 OK hello from localhost:"+port(secure) {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("install/hosts another name in TLS", func(t *testing.T) {
		other := transport.Clone()
		other.TLSClientConfig.ServerName = "evil.example"
		if got, err := get(&http.Client{Transport: other}, "https://localhost:"+port(secure)); err == nil {
			t.Errorf("answered %q", got)
		}
	})
	t.Run("install/hosts not listed", func(t *testing.T) {
		want := `403 Forbidden 127.0.0.1:` + port(plain) + ` is refused: it is not among the hosts of the sandbox of default/s; add it to "hosts" in "sandbox" of its entry`
		if got, err := get(allowed, "http://127.0.0.1:"+port(plain)); err != nil || strings.TrimSpace(got) != want {
			t.Errorf("%q, %v\nwant %q", got, err, want)
		}
		want = `403 Forbidden example.com:443 is refused: it is not among the hosts of the sandbox of default/s; add it to "hosts" in "sandbox" of its entry`
		if got := connect(t, at, "example.com:443"); strings.TrimSpace(got) != want {
			t.Errorf("%q\nwant %q", got, want)
		}
		if got, err := get(allowed, "https://example.com/"); err == nil {
			t.Errorf("answered %q", got)
		}
		if !strings.Contains(log.String(), "host=example.com:443") || !strings.Contains(log.String(), "server=default/s") {
			t.Errorf("log: %s", log.String())
		}
	})
	t.Run("install/hosts at a private address", func(t *testing.T) {
		c, _, private := client(t, x, []host{{"localhost", plainPort, false}, {"localhost", securePort, false}})
		want := `:%s is refused: the host is at an address that is not public; to allow it, add its address to "hosts" in "sandbox" of the entry of default/s`
		if got, err := get(c, "http://localhost:"+port(plain)); err != nil || strings.TrimSpace(got) != "403 Forbidden localhost"+fmt.Sprintf(want, port(plain)) {
			t.Errorf("%q, %v", got, err)
		}
		if got := connect(t, private, "localhost:"+port(secure)); strings.TrimSpace(got) != "403 Forbidden localhost"+fmt.Sprintf(want, port(secure)) {
			t.Errorf("%q", got)
		}
		if got, err := get(c, "https://localhost:"+port(secure)); err == nil {
			t.Errorf("answered %q", got)
		}
	})
	t.Run("install/hosts that do not answer", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		_, gonePort, _ := splitTarget(gone.Listener.Addr().String(), 0)
		gone.Close()
		c, _, _ := client(t, x, []host{{"localhost", gonePort, true}})
		if got, err := get(c, "http://localhost:"+port(gone)); err != nil || !strings.HasPrefix(got, "502 Bad Gateway ") || !strings.Contains(got, "connection refused") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("install/hosts without the secret", func(t *testing.T) {
		u, _ := url.Parse(at)
		u.User = url.UserPassword("sandbox", "wrong")
		c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u)}}
		if got, err := get(c, "http://localhost:"+port(plain)); err != nil || !strings.HasPrefix(got, "407 ") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("install/hosts another name in a tunnel without TLS", func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go host{"localhost", plainPort, true}.requests(theirs, bufio.NewReader(theirs), "localhost", plainPort)
		from := bufio.NewReader(ours)
		for range 2 {
			io.WriteString(ours, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "hello from localhost" {
				t.Errorf("%q, %v", body, err)
			}
		}
	})
	t.Run("install/hosts not TLS on its port", func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		go func() { io.WriteString(ours, "SSH-2.0-x\r\n") }()
		if _, err := firstBytes(theirs); err == nil {
			t.Error("it was taken")
		}
	})
}

// connect requests a tunnel from the proxy and returns the response.
func connect(t *testing.T, proxy, target string) string {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	password, _ := u.User.Password()
	secret := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", target, target, secret)
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, max(0, resp.ContentLength)))
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + " " + string(body)
}

func firstBytes(c net.Conn) ([]byte, error) { return hello(c, bufio.NewReader(c), "localhost", 443) }

func TestProxyEnds(t *testing.T) {
	silent, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	x := new(Proxy)
	_, port, _ := splitTarget(silent.Addr().String(), 0)
	_, _, at := client(t, x, []host{{"localhost", port, true}})
	u, _ := url.Parse(at)
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	x.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("install/hosts: the connection is still open")
	}
	if _, err := x.open(grant{server: "s"}, new(Program), new(Profile)); err == nil {
		t.Error("install/hosts: a closed proxy opened")
	}
}

// TestOffered checks which hosts that a server asks for may be a question to a
// person. One and the same rule decides for the inbox and for what was learnt.
func TestOffered(t *testing.T) {
	var asked []string
	x := &Proxy{Refused: func(_, host string) { asked = append(asked, host) }}
	defer x.Close()
	_, _, at := client(t, x, nil)
	long := strings.Repeat("a", 60)
	want := []string{"api.example.com:443", "api.example.com:8443", "xn--bcher-kva.example:443"}
	for _, target := range append([]string{
		"*.com:443", "localhost:22", "a.localhost:22", "LOCALHOST.:22", "127.0.0.1:80", "169.254.169.254:80", "8.8.8.8:443", "[::1]:80", "127.1:80", "2130706433:80", "0x7f.1:80",
		"printer.local:80", "metadata.google.internal:80", "router.home.arpa:80", "router:80", strings.Repeat(long+".", 5) + "com:443",
		"evil.com:99999", "evil.com:0", "evil.com:x", "evil.com:-1",
	}, want...) {
		if got := connect(t, at, target); !strings.HasPrefix(got, "403 ") && !strings.HasPrefix(got, "400 ") {
			t.Errorf("install/hosts %s: %s", target, got)
		}
	}
	if !slices.Equal(asked, want) {
		t.Errorf("install/hosts: asked about %q", asked)
	}
}
