//go:build unix

package torture

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// moreFiles raises the descriptor limit of this process to its maximum.
func moreFiles(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}

// idler opens a session with an idle stream.
func idler(gateway *mcptest.Process) (conn net.Conn, id string, err error) {
	host := strings.TrimPrefix(gateway.URL, "http://")
	if conn, err = net.Dial("tcp", host); err != nil {
		return nil, "", err
	}
	body := mcptest.InitializeLine(mcp.LatestLegacy, `{}`)
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
	head := make([]byte, 8192)
	n, err := conn.Read(head)
	if err != nil {
		return nil, "", err
	}
	_, rest, ok := strings.Cut(string(head[:n]), "Mcp-Session-Id: ")
	if !ok {
		return nil, "", fmt.Errorf("no session: %.200s", head[:n])
	}
	id, _, _ = strings.Cut(rest, "\r\n")
	fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", host, id)
	return conn, id, nil
}

// staysQuiet checks that a stream stays open for a while, and that no message
// arrives.
func staysQuiet(t *testing.T, conn net.Conn, d time.Duration) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if !errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(got), "jsonrpc") {
		t.Errorf("an idle stream: %v after %q", err, got)
	}
}

// TestIdleSessions checks that many sessions with open streams cost little.
func TestIdleSessions(t *testing.T) {
	t.Run("fault/T39", func(t *testing.T) {
		moreFiles(t)
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		echoes(t, gateway.URL+"/mcp", "s0__echo", 4, 400)
		before := rss(t, gateway.PID())
		many := figures.Size(300, 9_900)
		conns, ids := make([]net.Conn, many), make([]string, many)
		var wg sync.WaitGroup
		for w := range 20 {
			wg.Go(func() {
				for i := w; i < many; i += 20 {
					var err error
					if conns[i], ids[i], err = idler(gateway); err != nil {
						t.Errorf("session %d: %v", i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		with := rss(t, gateway.PID())
		each := (with - before) * 1024 / float64(many)
		used := cpu(t, gateway.PID())
		watch := long(time.Second, time.Minute)
		staysQuiet(t, conns[0], watch)
		share := float64(cpu(t, gateway.PID())-used) / float64(watch) * 100
		took := echoes(t, gateway.URL+"/mcp", "s0__echo", 4, 400)
		if figures.Full() && (each > 64 || share > 5) {
			t.Errorf("%.1f KiB a session, %.1f %% of a core", each, share)
		}
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		for i, conn := range conns {
			c.Header.Set("Mcp-Session-Id", ids[i])
			c.Do(http.MethodDelete, "")
			conn.Close()
		}
		echoes(t, gateway.URL+"/mcp", "s0__echo", 4, 400)
		eventually(t, "descriptors given back", patience, func() bool { return descriptors(t, gateway.PID()) < 100 })
		// The runtime keeps the stacks of ten thousand goroutines; most of the
		// rest is returned once it is idle.
		eventually(t, "memory given back", 2*time.Minute, func() bool { return rss(t, gateway.PID()) <= before+(with-before)/2+10 })
		healthy(t, gateway)
		figures.Report(t, "T39", "%d idle sessions with open streams: %.1f KiB each, %.2f %% of a core, echo p99 %v; RSS %.0f MiB before, %.0f with them, %.0f after they left",
			many, each, share, p99(took), before, with, rss(t, gateway.PID()))
	})
}

// TestReconnectingClients has many clients reconnect at once.
func TestReconnectingClients(t *testing.T) {
	t.Run("fault/T42", func(t *testing.T) {
		moreFiles(t)
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		many := figures.Size(200, 5000)
		var wg sync.WaitGroup
		begun := time.Now()
		for range many {
			wg.Go(func() {
				conn, _, err := idler(gateway)
				if err != nil {
					t.Errorf("a client was turned away: %v", err)
					return
				}
				conn.Close()
			})
		}
		wg.Wait()
		took := time.Since(begun)
		if took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		healthy(t, gateway)
		figures.Report(t, "T42", "%d clients connect at once: all in after %v (500 servers that come back: simulated in the unit tests)", many, took.Round(time.Millisecond))
	})
}

// TestPressure checks that work is refused before the memory runs out.
func TestPressure(t *testing.T) {
	t.Run("fault/F28", func(t *testing.T) {
		f := hostiles(t, 1, "")
		gateway := start(t, mcptest.BuildProduct(t), strings.Replace(f.config, `{"mcpServers"`, `{"limits":{"memory":"4MiB"},"mcpServers"`, 1), nil)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		reply := c.Post(mcptest.InitializeLine(mcp.LatestLegacy, `{}`))
		if reply.Status != http.StatusServiceUnavailable || !strings.Contains(reply.Body, "overloaded") || reply.Header.Get("Retry-After") == "" {
			t.Errorf("a session in full memory: %d %s", reply.Status, reply.Body)
		}
		if m := c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s0__echo","arguments":{}}}`).Answer(t); m.Error == nil || !strings.Contains(m.Raw, "overloaded") {
			t.Errorf("a call in full memory: %s", m.Raw)
		}
		resp, err := http.Get(gateway.URL + "/health")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("health: %v %v", resp, err)
		}
		resp.Body.Close()
	})
}

// TestDescriptors checks that the gateway survives a lack of descriptors.
func TestDescriptors(t *testing.T) {
	t.Run("fault/F27", func(t *testing.T) {
		moreFiles(t)
		f := hostiles(t, 1, "")
		path := mcptest.WriteConfig(t, f.config)
		p := mcptest.Start(t, mcptest.Program{
			Path: "/bin/sh", Args: []string{"-c", `ulimit -n 256; exec "$0" "$@"`, mcptest.BuildProduct(t), "http", "--mcp-config", path, "--port", "0"},
			Env: []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME="},
		})
		p.Listening()
		ready(t, p)
		var conns []net.Conn
		for range 400 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				break
			}
			defer conn.Close()
			conns = append(conns, conn)
		}
		if n := descriptors(t, p.PID()); n > 256-50 {
			t.Errorf("%d of 256 descriptors are taken by clients", n)
		}
		for _, conn := range conns[:100] {
			conn.Close()
		}
		// A server that must be restarted needs descriptors itself.
		victim := servers(t, p)[0]
		mcptest.Kill(victim.PID)
		eventually(t, "restart", patience, func() bool {
			s := servers(t, p)[0]
			return s.Status == "ready" && s.PID != victim.PID
		})
		for _, conn := range conns {
			conn.Close()
		}
		eventually(t, "an echo", patience, func() bool {
			resp, err := http.Get(p.URL + "/health")
			if err != nil {
				return false
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
		healthy(t, p)
	})
}
