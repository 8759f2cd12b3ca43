package interop

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

const (
	pebbleVersion = "v2.10.1"
	acmeName      = "mcp.example.test"
)

// TestACME gets a certificate from Pebble, the test authority of Let's Encrypt,
// over the real protocol. The name is verified on the gateway's own listener,
// with a name server that resolves it.
func TestACME(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	config := filepath.Join(dir, "mcp.json")
	content := fmt.Sprintf(`{"server":{"host":"127.0.0.1","port":%s,"tls":{"acme":{"domains":[%q],"email":"owner@example.test","directory":"https://localhost:%s/dir","cache":"acme"}}},"mcpServers":{}}`,
		a.gateway, acmeName, a.port)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(t *testing.T) *mcptest.Process {
		gw := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-c", config}, Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "SSL_CERT_FILE=" + a.trust}})
		if url := gw.Listening(); url != "https://"+acmeName+":"+a.gateway {
			t.Errorf("it is shown as %s", url)
		}
		return gw
	}
	pool := a.start(t)
	var serial string
	t.Run("get/acme a certificate for a name", func(t *testing.T) {
		gw := start(t)
		defer gw.Stop()
		serial = a.ask(t, pool)
		d := tls.Dialer{Config: &tls.Config{ServerName: "other.example.test", InsecureSkipVerify: true}}
		if c, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:"+a.gateway); err == nil {
			c.Close()
			t.Error("a certificate for another name")
		}
	})
	a.stop()
	t.Run("get/acme it is kept over a restart", func(t *testing.T) {
		start(t)
		if again := a.ask(t, pool); again != serial {
			t.Errorf("serial %s, before %s", again, serial)
		}
	})
}

// An authority is Pebble with its name server.
type authority struct {
	dir, trust                                   string
	port, management, gateway, dns, dnsAdmin, no string // ports
	processes                                    []*mcptest.Process
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	for _, port := range []*string{&a.port, &a.management, &a.gateway, &a.dns, &a.dnsAdmin, &a.no} {
		*port = mcptest.FreePort(t)
	}
	mcptest.NewCertificate(t, "localhost", "127.0.0.1").Write(t, a.dir)
	a.trust = filepath.Join(a.dir, "cert.pem")
	return a
}

// start returns the pool that trusts the authority's certificates.
func (a *authority) start(t *testing.T) *x509.CertPool {
	t.Helper()
	install := exec.CommandContext(t.Context(), "go", "install", "github.com/letsencrypt/pebble/v2/cmd/pebble@"+pebbleVersion, "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv@"+pebbleVersion)
	bin := filepath.Join(cache, "pebble-"+pebbleVersion)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("installing pebble: %v\n%s", err, out)
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": "127.0.0.1:" + a.port, "managementListenAddress": "127.0.0.1:" + a.management,
		"certificate": a.trust, "privateKey": filepath.Join(a.dir, "key.pem"), "httpPort": json.RawMessage(a.no), "tlsPort": json.RawMessage(a.gateway),
		"profiles": map[string]any{"default": map[string]any{"description": "usual", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(a.dir, "pebble.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	names := mcptest.Start(t, loud(filepath.Join(bin, "pebble-challtestsrv"), "-management", "127.0.0.1:"+a.dnsAdmin,
		"-dnsserver", "127.0.0.1:"+a.dns, "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""))
	names.Says("Starting challenge servers")
	pebble := mcptest.Start(t, loud(filepath.Join(bin, "pebble"), "-config", path, "-dnsserver", "127.0.0.1:"+a.dns))
	a.processes = []*mcptest.Process{names, pebble}
	pebble.Says("ACME directory available at") // before the port of its management is open
	accepts(t, "127.0.0.1:"+a.management)
	return a.root(t)
}

// loud runs one of Pebble's programs, which log to standard output.
func loud(path string, args ...string) mcptest.Program {
	return mcptest.Program{Path: "sh", Args: append([]string{"-c", `exec "$0" "$@" >&2`, path}, args...), Env: []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0"}}
}

func (a *authority) stop() {
	for _, p := range a.processes {
		p.Stop()
	}
}

// root returns the certificate with which the authority signs.
func (a *authority) root(t *testing.T) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(a.trust)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	resp, err := client.Get("https://localhost:" + a.management + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(data) {
		t.Fatalf("the root of the authority: %v %s", err, data)
	}
	return pool
}

// ask makes a request to the gateway under its name, and returns the serial
// number of its certificate.
func (a *authority) ask(t *testing.T, pool *x509.CertPool) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: acmeName}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:"+a.gateway+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = acmeName
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("/health: %s", resp.Status)
	}
	return resp.TLS.PeerCertificates[0].SerialNumber.String()
}
