package torture

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestBadBytes tests servers that write garbage, or write in small pieces.
func TestBadBytes(t *testing.T) {
	for _, tc := range []struct {
		id, mode string
		calls    int
	}{
		{"T13", "garbage,banner,stderr-flood", figures.Size(800, 10_000)},
		{"T14", "partial,crlf,trailing-blank", figures.Size(160, 20_000)},
	} {
		t.Run("fault/"+tc.id, func(t *testing.T) {
			gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"s0":{"command":%q,"args":["-role","hostile","-mode",%q]}}}`, mcptest.Build(t), tc.mode))
			ready(t, gateway)
			before := rss(t, gateway.PID())
			out := mcptest.Load{URL: gateway.URL + "/mcp", Clients: 16, Calls: tc.calls / 16, Tools: []string{"s0__echo"}}.Run(t)
			if out.OK != tc.calls/16*16 || len(out.Wrong) > 0 {
				t.Errorf("%d of %d: %v, wrong %.300v", out.OK, tc.calls, out.Errors, out.Wrong)
			}
			after := rss(t, gateway.PID())
			if after > before+40 {
				t.Errorf("RSS grew from %.0f to %.0f MiB", before, after)
			}
			figures.Report(t, tc.id, "%d calls, server with %s: all right; RSS %.0f to %.0f MiB", out.OK, tc.mode, before, after)
		})
	}
}

// TestHuge checks that responses over the limit are skipped in constant memory.
func TestHuge(t *testing.T) {
	t.Run("fault/T15", func(t *testing.T) {
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		sizes := []int{1, 8, 17, 64}
		if figures.Full() {
			sizes = []int{1, 2, 4, 8, 15, 17, 32, 64, 128, 256}
		}
		peak, slowest, tried := 0.0, time.Duration(0), 0
		for _, mib := range sizes {
			for _, newline := range []bool{true, false} {
				if !newline && !figures.Full() && mib != 17 {
					continue
				}
				tried++
				m := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s0__huge","arguments":{"bytes":%d,"newline":%v}}}`, tried, mib<<20, newline)).Answer(t)
				if over := mib > 16; over != (m.Error != nil) || over && !strings.Contains(m.Raw, "response_too_large") {
					t.Errorf("%d MiB: %.200s", mib, m.Raw)
				}
				begun := time.Now()
				if m := c.Post(`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"s0__echo","arguments":{"token":"alive"}}}`).Answer(t); m.Error != nil {
					t.Errorf("afterwards: %s", m.Raw)
				}
				slowest = max(slowest, time.Since(begun))
				peak = max(peak, float64(proc(t, gateway.PID(), "VmHWM"))/1024)
			}
		}
		if limit := 60.0 + 3*16 + 16; peak > limit {
			t.Errorf("peak RSS %.0f MiB, limit %.0f", peak, limit)
		}
		figures.Report(t, "T15", "%d answers of 1 to %d MiB, with and without an end of line: too large ones refused, peak RSS %.0f MiB, the next echo after %v at most", tried, sizes[len(sizes)-1], peak, slowest.Round(time.Microsecond))
	})
}

// echoes makes n echoes and returns their latencies, sorted.
func echoes(t *testing.T, url, tool string, clients, n int) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for range clients {
		c := mcptest.NewRawHTTP(t, url)
		c.Initialize(mcp.LatestLegacy, `{}`)
		wg.Go(func() {
			for i := range n / clients {
				begun := time.Now()
				reply, err := c.Try(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"token":"x"}}}`, i, tool))
				if err != nil || len(reply.Messages) == 0 || reply.Messages[0].Error != nil {
					t.Errorf("echo: %v %+v", err, reply)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took
}

func p99(took []time.Duration) time.Duration { return took[len(took)*99/100].Round(time.Microsecond) }

// TestFlood checks that a flooding server and a client that does not read do
// not affect other clients.
func TestFlood(t *testing.T) {
	t.Run("fault/T16", func(t *testing.T) {
		f := hostiles(t, 2, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		url := gateway.URL + "/mcp"
		calm := echoes(t, url, "s1__echo", 16, figures.Size(800, 8000))
		before := rss(t, gateway.PID())
		flooder := mcptest.NewRawHTTP(t, url)
		flooder.Initialize(mcp.LatestLegacy, `{}`)
		deaf := stuckClient(t, gateway)
		done := make(chan struct{})
		go func() {
			defer close(done)
			reply, err := flooder.Try(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s0__flood","arguments":{"count":%d}}}`, figures.Size(50_000, 1_000_000)))
			if err != nil || len(reply.Messages) == 0 || reply.Messages[0].Error != nil {
				t.Errorf("the flooding call: %v %+v", err, reply)
			}
		}()
		busy := echoes(t, url, "s1__echo", 16, figures.Size(800, 8000))
		<-done
		after := rss(t, gateway.PID())
		if after > before+64 {
			t.Errorf("RSS grew from %.0f to %.0f MiB", before, after)
		}
		deaf.Close()
		healthy(t, gateway)
		figures.Report(t, "T16", "%d notifications as fast as a server can, a client that does not read: echo p99 on another server %v before, %v meanwhile; RSS %.0f to %.0f MiB", figures.Size(50_000, 1_000_000), p99(calm), p99(busy), before, after)
	})
}

// stuckClient opens a stream and never reads it.
func stuckClient(t *testing.T, gateway *mcptest.Process) net.Conn {
	t.Helper()
	c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
	c.Initialize(mcp.LatestLegacy, `{}`)
	conn, err := net.Dial("tcp", strings.TrimPrefix(gateway.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n",
		strings.TrimPrefix(gateway.URL, "http://"), c.Header.Get("Mcp-Session-Id"))
	return conn
}

// TestSlowClients checks that connections that send a byte now and then are
// closed, without an effect on other clients.
func TestSlowClients(t *testing.T) {
	t.Run("fault/T22", func(t *testing.T) {
		f := hostiles(t, 1, "")
		f.config = strings.Replace(f.config, `{"mcpServers"`, fmt.Sprintf(`{"limits":{"readHeader":%q,"bodyIdle":%q,"writeIdle":"2s"},"mcpServers"`, long(time.Second, 10*time.Second), long(time.Second, 10*time.Second)), 1)
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		url, many := gateway.URL+"/mcp", figures.Size(50, 2000)
		calm := echoes(t, url, "s0__echo", 8, figures.Size(400, 4000))
		files := descriptors(t, gateway.PID())
		host := strings.TrimPrefix(gateway.URL, "http://")
		var conns []net.Conn
		for i := range 2 * many {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conns = append(conns, conn)
			if i%2 == 0 {
				fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nX-", host)
				continue
			}
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: 500\r\n\r\n{", host)
		}
		begun := time.Now()
		busy := echoes(t, url, "s0__echo", 8, figures.Size(400, 4000))
		limit := long(time.Second, 10*time.Second) + 3*time.Second
		for i, conn := range conns {
			conn.SetReadDeadline(begun.Add(limit + patience))
			buf := make([]byte, 4096)
			for {
				if _, err := conn.Read(buf); err != nil {
					if ne, ok := err.(net.Error); ok && ne.Timeout() {
						t.Fatalf("connection %d is still open", i)
					}
					break
				}
			}
		}
		took := time.Since(begun)
		if figures.Full() && took > limit+patience/2 {
			t.Errorf("the last was closed after %v", took)
		}
		eventually(t, "descriptors given back", patience, func() bool { return descriptors(t, gateway.PID()) <= files+10 })
		figures.Report(t, "T22", "%d half-sent headers and %d half-sent bodies (limit %v): all closed after %v; echo p99 %v before, %v meanwhile", many, many, long(time.Second, 10*time.Second), took.Round(time.Millisecond), p99(calm), p99(busy))
	})
}

// TestShapes checks that deep, wide and long messages cost little.
func TestShapes(t *testing.T) {
	t.Run("fault/T23", func(t *testing.T) {
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		before := float64(proc(t, gateway.PID(), "VmHWM")) / 1024
		slowest, largest := time.Duration(0), 0
		tried := 0
		send := func(name, body string, status int) {
			tried++
			largest = max(largest, len(body))
			begun := time.Now()
			reply := c.Post(body)
			slowest = max(slowest, time.Since(begun))
			if reply.Status != status {
				t.Errorf("%s: status %d: %.200s", name, reply.Status, reply.Body)
			}
		}
		wrap := func(inner string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s0__echo","arguments":{"a":` + inner + `}}}`
		}
		for range figures.Size(1, 10) {
			for _, depth := range []int{10, 900, 1001, 10_000, 100_000, 1_000_000, 4_000_000} {
				status := http.StatusOK
				if depth > 990 {
					status = http.StatusBadRequest
				}
				send(fmt.Sprintf("depth %d", depth), wrap(strings.Repeat("[", depth)+strings.Repeat("]", depth)), status)
			}
			send("unclosed", wrap(strings.Repeat("[", 4<<20)), http.StatusBadRequest)
			send("items", wrap("["+strings.Repeat("1,", 1_000_000)+"1]"), http.StatusOK)
			send("digits", wrap(strings.Repeat("7", 100_000)), http.StatusBadRequest)
			send("string", wrap(`"`+strings.Repeat("x", 4<<20)+`"`), http.StatusOK)
			var keys strings.Builder
			for i := range 200_000 {
				fmt.Fprintf(&keys, `"k%d":1,`, i)
			}
			send("keys", wrap("{"+keys.String()+`"z":1}`), http.StatusBadRequest)
			if m := c.Post(wrap(`1`)).Answer(t); m.Error != nil {
				t.Fatalf("afterwards: %s", m.Raw)
			}
		}
		peak := float64(proc(t, gateway.PID(), "VmHWM")) / 1024
		if peak > before+5*float64(largest)/(1<<20)+20 {
			t.Errorf("peak RSS %.0f MiB from %.0f with bodies of %d MiB", peak, before, largest>>20)
		}
		healthy(t, gateway)
		figures.Report(t, "T23", "%d deep, wide or long bodies up to %.1f MiB: right status each, slowest %v (with its way there and back), peak RSS %.0f MiB from %.0f", tried, float64(largest)/(1<<20), slowest.Round(time.Millisecond), peak, before)
	})

	t.Run("fault/T24", func(t *testing.T) {
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing","arguments":{"a":"` + strings.Repeat("y", 4<<20) + `"}}}`
		c.Post(body)
		before, used := float64(proc(t, gateway.PID(), "VmHWM"))/1024, cpu(t, gateway.PID())
		n := figures.Size(20, 200)
		for range n {
			c.Post(body)
		}
		peak := float64(proc(t, gateway.PID(), "VmHWM")) / 1024
		perMiB := (cpu(t, gateway.PID()) - used) / time.Duration(4*n)
		if peak > before+10*4 {
			t.Errorf("peak RSS %.0f MiB from %.0f with bodies of 4 MiB", peak, before)
		}
		if perMiB > 50*time.Millisecond {
			t.Errorf("%v of CPU per MiB", perMiB)
		}
		figures.Report(t, "T24", "%d bodies of 4 MiB: peak RSS %.0f MiB from %.0f, %v of CPU per MiB", n, peak, before, perMiB)
	})
}
