package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

const tlsKey = "0123456789abcdef0123456789abcdef"

// A secured gateway listens on all addresses with TLS and one key.
type secured struct {
	dir, binary, config, url string
	env                      []string
	gateway                  *mcptest.Process
}

func startSecured(t *testing.T, server string) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), binary: mcptest.BuildProduct(t)}
	s.env = []string{"HOME=" + s.dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"}
	s.config = filepath.Join(s.dir, "mcp.json")
	must.Write(t, s.config, fmt.Sprintf(`{"server":%s,"access":{"key":%q},"mcpServers":{"demo":{"command":%q,"args":["demo"]}}}`, server, tlsKey, s.binary))
	return s
}

func (s *secured) start(t *testing.T, cert mcptest.Certificate) {
	t.Helper()
	cert.Write(t, s.dir)
	s.gateway = mcptest.Start(t, mcptest.Program{Path: s.binary, Args: []string{"http", "-p", "0", "-c", s.config}, Env: s.env})
	s.url = s.gateway.Listening()
}

func (s *secured) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.binary, append(args, "-c", s.config)...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// serial returns the serial number of the certificate on a new connection.
func (s *secured) serial(t *testing.T) *big.Int {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // accept any certificate
	c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", u.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
}

// withKey adds the key to every request.
type withKey struct {
	http.RoundTripper
	protos chan int
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+tlsKey)
	resp, err := k.RoundTripper.RoundTrip(r)
	if err == nil {
		select {
		case k.protos <- resp.ProtoMajor:
		default:
		}
	}
	return resp, err
}

func secureClient(pool *x509.CertPool, h2 bool) *http.Client {
	return &http.Client{Transport: withKey{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: h2}, make(chan int, 1)}}
}

// TestTLS serves with a certificate from two files.
func TestTLS(t *testing.T) {
	t.Parallel()
	first, second := mcptest.NewCertificate(t, "localhost", "127.0.0.1"), mcptest.NewCertificate(t, "localhost", "127.0.0.1")
	s := startSecured(t, `{"host":"0.0.0.0","tls":{"cert":"cert.pem","key":"key.pem"}}`)
	s.start(t, first)
	t.Run("get/tls addresses are https", func(t *testing.T) {
		if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
			t.Errorf("it listens on %s", s.url)
		}
		if out := s.run(t, "status", "--json"); !strings.Contains(out, s.url) {
			t.Errorf("status: %s", out)
		}
		if out := s.run(t, "ui", "--print"); !strings.HasPrefix(out, s.url+"/ui/#code=") {
			t.Errorf("ui --print: %s", out)
		}
		if out := s.run(t, "call", "demo", "add", "a=19", "b=23"); !strings.Contains(out, "42") {
			t.Errorf("a call through the running gateway: %s", out)
		}
	})
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run("get/tls calls over "+name, func(t *testing.T) {
			client := secureClient(mcptest.Pool(first), h2)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "tls", Version: "1"}, nil).
				Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: client}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "demo__add", Arguments: map[string]any{"a": 19, "b": 23}})
			if err != nil || result.IsError {
				t.Fatalf("%v %v", result, err)
			}
			if proto := <-client.Transport.(withKey).protos; (proto == 2) != h2 {
				t.Errorf("the protocol is HTTP/%d", proto)
			}
		})
	}
	t.Run("get/tls plain HTTP is told why", func(t *testing.T) {
		status, text := ask(t, "GET", strings.Replace(s.url, "https:", "http:", 1)+"/health", "")
		if status != http.StatusBadRequest || !strings.Contains(text, "HTTPS server") {
			t.Errorf("%d %s", status, text)
		}
	})
	t.Run("get/tls a new certificate counts at once", func(t *testing.T) {
		if got := s.serial(t); got.Cmp(first.Serial) != 0 {
			t.Fatalf("serial %v", got)
		}
		second.Write(t, s.dir)
		if got := s.serial(t); got.Cmp(second.Serial) != 0 {
			t.Errorf("serial %v after a change", got)
		}
	})
	t.Run("get/tls a bad file keeps the old certificate", func(t *testing.T) {
		for name, bad := range map[string]mcptest.Certificate{"not a certificate": {Cert: []byte("nonsense"), Key: second.Key}, "of another key": {Cert: second.Cert, Key: first.Key}} {
			bad.Write(t, s.dir)
			if got := s.serial(t); got.Cmp(second.Serial) != 0 {
				t.Errorf("%s: serial %v", name, got)
			}
			s.gateway.Says("the old one stays")
		}
		first.Write(t, s.dir)
		if got := s.serial(t); got.Cmp(first.Serial) != 0 {
			t.Errorf("serial %v after a good file", got)
		}
	})
}

// TestListenPlain starts gateways that would send keys over plain HTTP.
func TestListenPlain(t *testing.T) {
	t.Parallel()
	binary := mcptest.BuildProduct(t)
	for _, row := range []struct {
		name, server string
		says         string // why it does not start; empty if it does
	}{
		{"on a foreign address", `{"host":"0.0.0.0"}`, "AIO2053"},
		{"on a foreign address in both families", `{"host":"::"}`, "AIO2053"},
		{"on a foreign address as asked for", `{"host":"0.0.0.0","insecure":true}`, ""},
		{"on this machine", `{"host":"127.0.0.1"}`, ""},
		{"with a certificate without a key", `{"tls":{"cert":"cert.pem"}}`, "server.tls.key"},
		{"with files that are not there", `{"tls":{"cert":"cert.pem","key":"key.pem"}}`, "cert.pem"},
		{"with two sources", `{"tls":{"cert":"cert.pem","key":"key.pem","acme":{"domains":["a.example"]}}}`, "server.tls.acme"},
		{"with an address for a name", `{"tls":{"acme":{"domains":["192.0.2.1"]}}}`, "192.0.2.1 is not a public host name"},
	} {
		t.Run("get/plain "+row.name, func(t *testing.T) {
			dir := t.TempDir()
			path := must.Write(t, filepath.Join(dir, "mcp.json"), fmt.Appendf(nil, `{"server":%s,"access":{"key":%q},"mcpServers":{}}`, row.server, tlsKey))
			gw := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path}, Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"}})
			if row.says == "" {
				gw.Listening()
				return
			}
			if code := gw.Wait(20 * time.Second); code == 0 || !strings.Contains(gw.Stderr(), row.says) {
				t.Errorf("exit code %d: %s", code, gw.Stderr())
			}
			for _, check := range [][]string{{"config", "validate"}, {"doctor"}} {
				p := mcptest.Start(t, mcptest.Program{Path: binary, Args: append(check, "-c", path), Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"}})
				if code := p.Wait(20 * time.Second); code == 0 || !strings.Contains(p.Stdout()+p.Stderr(), row.says) {
					t.Errorf("%v: exit code %d: %s%s", check, code, p.Stdout(), p.Stderr())
				}
			}
		})
	}
}

// TestConsoleNames requests the page of the console under the names of the
// gateway, and makes a change as the page does.
func TestConsoleNames(t *testing.T) {
	t.Parallel()
	s := startSecured(t, `{"hosts":["mcp.example.test"],"tls":{"cert":"cert.pem","key":"key.pem"}}`)
	cert := mcptest.NewCertificate(t, "mcp.example.test")
	s.start(t, cert)
	if !strings.HasPrefix(s.url, "https://mcp.example.test:") {
		t.Errorf("get/names it is shown as %s", s.url)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "https://"), ":")
	client := secureClient(mcptest.Pool(cert), true)
	client.Transport.(withKey).RoundTripper.(*http.Transport).TLSClientConfig.ServerName = "mcp.example.test"
	for _, row := range []struct {
		name, method, path, host, origin string
		status                           int
	}{
		{"a configured name", "GET", "/ui/", "mcp.example.test:" + port, "", 200},
		{"a configured name in other case", "GET", "/ui/", "MCP.example.test", "", 200},
		{"this machine", "GET", "/ui/", "localhost:" + port, "", 200},
		{"another name", "GET", "/ui/", "evil.example:" + port, "", 403},
		{"a name below", "GET", "/ui/", "x.mcp.example.test", "", 403},
		{"a change by its own page", "POST", "/api/v1/login", "mcp.example.test", "https://mcp.example.test", 401},
		{"a change by another page", "POST", "/api/v1/login", "mcp.example.test", "https://evil.example", 403},
		{"a change by a page without TLS", "POST", "/api/v1/login", "mcp.example.test", "http://mcp.example.test", 403},
	} {
		t.Run("get/names "+row.name, func(t *testing.T) {
			resp, text := must.Answer(t, client, must.Request(t, row.method, "https://127.0.0.1:"+port+row.path, `{"code":"wrong"}`,
				"Host", row.host, "Content-Type", "application/json", "X-MCP-AIO", "1", "Origin", row.origin))
			status := resp.StatusCode
			if status == http.StatusNotImplemented { // allowed, but built without the page
				status = http.StatusOK
			}
			if status != row.status {
				t.Errorf("%s %.300s", resp.Status, text)
			}
		})
	}
}
