// Package balancers starts a balancer in front of gateways: HAProxy or nginx
// with the file that we ship for it, or else our own with the same behaviour.
// No balancer sends a request twice.
package balancers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// A Balancer runs in front of gateways at ports of this machine.
type Balancer struct {
	Name string
	// Start runs it until the test ends, and returns its address.
	Start func(t *testing.T, ports []string) string
}

// HAProxy checks whether gateways accept requests.
func HAProxy(t *testing.T) Balancer {
	t.Helper()
	path := program(t, "haproxy")
	if path == "" {
		return Balancer{"a balancer that checks", balanceChecked}
	}
	return Balancer{"haproxy", func(t *testing.T, ports []string) string {
		return shipped(t, ports, "haproxy.cfg", func(config string) *exec.Cmd { return exec.Command(path, "-db", "-f", config) })
	}}
}

// Nginx has no health checks.
func Nginx(t *testing.T) Balancer {
	t.Helper()
	path := program(t, "nginx")
	if path == "" {
		return Balancer{"a balancer that checks nothing", balanceBlind}
	}
	return Balancer{"nginx", func(t *testing.T, ports []string) string {
		return shipped(t, ports, "nginx.conf", func(config string) *exec.Cmd {
			return exec.Command(path, "-c", config, "-p", filepath.Dir(config))
		})
	}}
}

// program finds a balancer; empty if there is none. Full-size runs require one.
func program(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	if figures.Full() {
		t.Fatalf("%s is not installed: run test/apt.sh %s=%s", name, name, name)
	}
	return ""
}

// balanceChecked is our own balancer with health checks.
func balanceChecked(t *testing.T, ports []string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	up := make([]atomic.Bool, len(ports))
	var checks sync.WaitGroup
	for i, port := range ports {
		checks.Go(func() { check(ctx, port, &up[i]) })
	}
	t.Cleanup(func() { cancel(); checks.Wait() })
	return roundRobin(t, ports, up)
}

// balanceBlind is our own balancer without health checks.
func balanceBlind(t *testing.T, ports []string) string {
	t.Helper()
	up := make([]atomic.Bool, len(ports))
	for i := range up {
		up[i].Store(true)
	}
	return roundRobin(t, ports, up)
}

// roundRobin sends each request to the next replica that is up.
func roundRobin(t *testing.T, ports []string, up []atomic.Bool) string {
	t.Helper()
	var turn atomic.Int64
	transport := &http.Transport{DisableKeepAlives: true} // a kept connection may lead to a stopped replica
	next := func() *url.URL {
		for range 2 * len(ports) {
			if i := int(turn.Add(1)) % len(ports); up[i].Load() {
				return &url.URL{Scheme: "http", Host: "127.0.0.1:" + ports[i]}
			}
		}
		return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: redispatch{transport, next},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(next())
			r.Out.Host = r.In.Host // as HAProxy and nginx.conf do: gateways check it
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	for i := range up {
		await(t, "the balancer knows all replicas", up[i].Load)
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	return front.URL
}

// check polls whether a replica accepts requests.
func check(ctx context.Context, port string, up *atomic.Bool) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := client.Get("http://127.0.0.1:" + port + "/ready")
		up.Store(err == nil && resp.StatusCode == http.StatusOK)
		if err == nil {
			resp.Body.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// redispatch sends a request to the next replica if the connection fails.
type redispatch struct {
	*http.Transport
	next func() *url.URL
}

func (d redispatch) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	for tries := 0; ; tries++ {
		r.Body = io.NopCloser(bytes.NewReader(body))
		resp, err := d.Transport.RoundTrip(r)
		var dial *net.OpError
		if err == nil || tries == 3 || !errors.As(err, &dial) || dial.Op != "dial" {
			return resp, err
		}
		for i, refused := 0, r.URL.Host; i < 3 && r.URL.Host == refused; i++ {
			r.URL.Host = d.next().Host
		}
	}
}

// shipped runs a balancer with the file that we ship for it. It changes only
// the addresses, and the settings needed to run in a folder of its own.
func shipped(t *testing.T, ports []string, file string, command func(config string) *exec.Cmd) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../packaging/deploy/cluster", file))
	if err != nil {
		t.Fatal(err)
	}
	port := mcptest.FreePort(t)
	config := strings.NewReplacer(
		"bind :8080", "bind 127.0.0.1:"+port, "listen 8080", "listen 127.0.0.1:"+port,
		"worker_processes auto;", "worker_processes auto; user root; daemon off; pid nginx.pid; error_log stderr crit;",
		"http {", "http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;",
	).Replace(string(text))
	for i, gateway := range ports {
		address := fmt.Sprintf("10.0.0.1%d:3095", i+1)
		if !strings.Contains(config, address) {
			t.Fatalf("%s has no %s", file, address)
		}
		config = strings.ReplaceAll(config, address, "127.0.0.1:"+gateway)
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(path)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	await(t, file+" is served", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://127.0.0.1:" + port
}

// await polls ok every few milliseconds, for a limited time.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute", what)
		}
	}
}
