package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/random"
	"mcp-all-in-one/test/figures"
)

// crowd is the number of clients for which the figures are promised.
const crowd = 64

// TestCrosstalk checks that clients that use the same ids get their own
// responses.
func TestCrosstalk(t *testing.T) {
	t.Run("fault/T01", func(t *testing.T) {
		f := hostiles(t, 8, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		before := rss(t, gateway.PID())
		out := mcptest.Load{URL: gateway.URL + "/mcp", Clients: crowd, Calls: figures.Size(6_400, 1_000_000) / crowd, Tools: f.tools("echo")}.Run(t)
		total := figures.Size(6_400, 1_000_000) / crowd * crowd
		judge(t, out, total, f.ran(t))
		if out.OK != total {
			t.Errorf("%d of %d calls succeeded: %v", out.OK, total, out.Errors)
		}
		healthy(t, gateway)
		figures.Report(t, "T01", "%d calls, %d clients, 8 stdio servers: 0 lost, 0 doubled, 0 crossed; %.0f calls/s, median %v, p99 %v; RSS %.0f to %.0f MiB",
			total, crowd, float64(total)/out.Elapsed.Seconds(), out.Median.Round(time.Microsecond), out.P99.Round(time.Microsecond), before, rss(t, gateway.PID()))
	})
}

// TestLargeCrosstalk sends texts of all sizes at once, in both directions, over
// pipes, HTTP and event streams.
func TestLargeCrosstalk(t *testing.T) {
	t.Run("fault/T01b", func(t *testing.T) {
		url := largeEchoes(t)
		gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"s0":{"command":%q,"args":["-role","hostile"]},"s1":{"type":"http","url":%q},"s2":{"type":"http","url":%q}}}`,
			mcptest.Build(t), url+"/mcp", url+"/events"))
		ready(t, gateway)
		sizes := []int{9 << 20, 100, 3 << 20, 20 << 10, 3 << 20, 100 << 10, 1 << 20, 3 << 20, 2 << 20}
		const clients = 6
		calls := figures.Size(1, 50) * len(sizes)
		out := mcptest.Load{URL: gateway.URL + "/mcp", Clients: clients, Calls: calls, Sizes: sizes, Tools: []string{"s0__echo", "s1__echo", "s2__echo"}}.Run(t)
		if out.OK != clients*calls || len(out.Wrong) > 0 {
			t.Errorf("%d of %d calls succeeded: %v, wrong %.300v", out.OK, clients*calls, out.Errors, out.Wrong)
		}
		healthy(t, gateway)
		figures.Report(t, "T01b", "%d calls with texts of 100 B to 9 MiB, %d clients, servers over stdio, HTTP and event streams: 0 lost, 0 crossed; peak RSS %.0f MiB",
			out.OK, clients, float64(proc(t, gateway.PID(), "VmHWM"))/1024)
	})
}

// largeEchoes serves an echo server, as JSON at /mcp and as event streams at
// /events.
func largeEchoes(t *testing.T) (url string) {
	t.Helper()
	s := mcpserver.New("echo")
	s.Versions = mcpserver.LegacyVersions
	s.SetTools(mcpserver.Tool{Definition: `{"name":"echo","inputSchema":{"type":"object"}}`, Run: func(_ context.Context, c *mcpserver.Call) (any, error) {
		var args struct{ Token string }
		err := c.Bind(&args)
		return mcpserver.Text("%s", args.Token), err
	}})
	handler, stop := s.HTTP("")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" || r.Method != http.MethodPost {
			handler.ServeHTTP(w, r)
			return
		}
		r.URL.Path = "/mcp"
		plain := httptest.NewRecorder()
		handler.ServeHTTP(plain, r)
		maps.Copy(w.Header(), plain.Header())
		if plain.Body.Len() == 0 {
			w.WriteHeader(plain.Code)
			return
		}
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", plain.Body.Bytes())
	}))
	t.Cleanup(func() { stop(); front.Close() })
	return front.URL
}

// judge compares the outcome of a load with what the servers ran: nothing lost,
// nothing run twice, no responses mixed up.
func judge(t *testing.T, out mcptest.Outcome, total int, ran map[string]int) {
	t.Helper()
	ended := out.OK
	for _, n := range out.Errors {
		ended += n
	}
	if ended != total || len(out.Wrong) > 0 {
		t.Errorf("%d of %d calls ended, %d wrong: %.500s", ended, total, len(out.Wrong), strings.Join(out.Wrong, "\n"))
	}
	for token, n := range ran {
		if n > 1 {
			t.Errorf("%s ran %d times", token, n)
		}
	}
	for _, token := range out.Tokens {
		if ran[token] != 1 {
			t.Errorf("%s was answered and ran %d times", token, ran[token])
		}
	}
}

// TestKilledServers kills a server every 200 ms.
func TestKilledServers(t *testing.T) {
	t.Run("fault/T02", func(t *testing.T) {
		killing(t, "T02", mcptest.BuildProduct(t), figures.Size(9_600, 2_000_000), 80)
	})
	t.Run("fault/T02r", func(t *testing.T) {
		if !figures.Full() {
			t.Log("the race detector runs with TORTURE=full; the unit tests run with it always")
			return
		}
		killing(t, "T02r", build(t, "-race"), 50_000, 50)
	})
}

func killing(t *testing.T, id, path string, calls, percent int) {
	f := hostiles(t, 8, `,"restartDelay":"50ms","retries":1000`)
	gateway := start(t, path, f.config, []string{"GORACE=halt_on_error=0"})
	ready(t, gateway)
	stop, r := make(chan struct{}), random.New(t)
	var kills int
	var wg sync.WaitGroup
	wg.Go(func() { kills = killer(t, r, gateway, 200*time.Millisecond, stop) })
	out := mcptest.Load{URL: gateway.URL + "/mcp", Clients: crowd, Calls: calls / crowd, Tools: f.tools("echo")}.Run(t)
	close(stop)
	wg.Wait()
	total := calls / crowd * crowd
	judge(t, out, total, f.ran(t))
	for reason, n := range out.Errors {
		if reason != "upstream_closed" && reason != "upstream_unavailable" {
			t.Errorf("%d calls ended with %s", n, reason)
		}
	}
	if out.OK*100 < total*percent {
		t.Errorf("%d of %d calls succeeded: %v", out.OK, total, out.Errors)
	}
	if out.Max > 10*time.Second {
		t.Errorf("a call took %v", out.Max)
	}
	healthy(t, gateway)
	ready(t, gateway)
	figures.Report(t, id, "%d calls, %d clients, 8 stdio servers, %d kills (one every 200 ms): 0 lost, 0 doubled, 0 crossed; %.2f %% successful, errors %v; %.0f calls/s, p99 %v, longest %v; RSS %.0f MiB",
		total, crowd, kills, float64(out.OK)*100/float64(total), out.Errors, float64(total)/out.Elapsed.Seconds(),
		out.P99.Round(time.Microsecond), out.Max.Round(time.Millisecond), rss(t, gateway.PID()))
}

// killer kills a random server at every tick, and returns how many it killed.
func killer(t *testing.T, r *rand.Rand, gateway *mcptest.Process, every time.Duration, stop <-chan struct{}) int {
	tick := time.NewTicker(every)
	defer tick.Stop()
	kills := 0
	for {
		select {
		case <-stop:
			return kills
		case <-tick.C:
		}
		list := servers(t, gateway)
		victim := list[r.IntN(len(list))]
		if victim.PID == 0 {
			continue // already down
		}
		if err := mcptest.Kill(victim.PID); err == nil {
			kills++
		} else if !errors.Is(err, os.ErrProcessDone) {
			panic(fmt.Sprintf("killing %d: %v", victim.PID, err))
		}
	}
}
