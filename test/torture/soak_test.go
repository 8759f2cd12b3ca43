package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/random"
	"mcp-all-in-one/test/figures"
)

// soakTime returns the duration of the soak, from SOAK.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SOAK: %v", err)
		}
		return d
	}
	return 3 * time.Second
}

// TestSoak opens and closes sessions, kills servers and changes the file for a
// long time, and checks that nothing grows.
func TestSoak(t *testing.T) {
	t.Run("fault/T38", func(t *testing.T) {
		whole := soakTime(t)
		f := hostiles(t, 4, `,"restartDelay":"50ms","retries":1000`)
		// Sessions of clients that leave without closing end after a while.
		f.config = strings.Replace(f.config, `{"mcpServers"`, `{"limits":{"sessionIdle":"10s"},"mcpServers"`, 1)
		path := mcptest.WriteConfig(t, f.config)
		gateway := mcptest.Start(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"http", "--mcp-config", path, "--port", "0", "--watch"},
			Env: []string{"HOME=" + t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME="},
		})
		gateway.Listening()
		ready(t, gateway)
		ctx, cancel := context.WithTimeout(t.Context(), whole)
		defer cancel()
		var ok, told, wrong, sessions atomic.Int64
		seed := random.Seed(t)
		var wg sync.WaitGroup
		for w := range figures.Size(10, 50) {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for ctx.Err() == nil {
					sessions.Add(1)
					soakSession(t, ctx, gateway.URL+"/mcp", rng, &ok, &told, &wrong)
				}
			})
		}
		kills := 0
		victims := rand.New(rand.NewPCG(seed, 1<<32))
		wg.Go(func() { kills = killer(t, victims, gateway, max(whole/180, 500*time.Millisecond), ctx.Done()) })
		wg.Go(func() { touch(t, ctx, path, f.config) })
		var samples []float64
		files := 0
		every := time.NewTicker(max(whole/60, 200*time.Millisecond))
		defer every.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-every.C:
				samples = append(samples, rss(t, gateway.PID()))
				files = max(files, descriptors(t, gateway.PID()))
			}
		}
		wg.Wait()
		ready(t, gateway)
		if wrong.Load() > 0 || ok.Load() == 0 {
			t.Errorf("%d calls went wrong, %d went well", wrong.Load(), ok.Load())
		}
		early, late := mean(samples[len(samples)/6:len(samples)/3]), mean(samples[len(samples)*5/6:])
		if whole > 5*time.Minute && late > early*1.05+2 {
			t.Errorf("RSS grew from %.1f to %.1f MiB", early, late)
		}
		healthy(t, gateway)
		if os.Getenv("SOAK") == "" {
			return // too short for the page
		}
		figures.Report(t, "T38", "%v: %d calls in %d sessions, %d servers killed, %d calls told so, 0 wrong; RSS %.1f MiB in the first third, %.1f MiB at the end; at most %d descriptors, %d at the end",
			whole, ok.Load()+told.Load(), sessions.Load(), kills, told.Load(), early, late, files, descriptors(t, gateway.PID()))
	})
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(len(list), 1))
}

// soakSession runs one session with a few mixed requests.
func soakSession(t *testing.T, ctx context.Context, url string, rng *rand.Rand, ok, told, wrong *atomic.Int64) {
	c := mcptest.NewRawHTTP(t, url)
	send := func(body string) *mcptest.Reply {
		reply, err := c.Try(ctx, http.MethodPost, body)
		if err != nil {
			if ctx.Err() == nil {
				wrong.Add(1)
				t.Errorf("%s: %v", body, err)
			}
			return nil
		}
		return reply
	}
	reply := send(mcptest.InitializeLine(mcp.LatestLegacy, `{}`))
	if reply == nil {
		return
	}
	c.Header.Set("Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id"))
	for i := range 20 + rng.IntN(60) {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s%d__%s","arguments":{"token":"x","count":5}}}`,
			i, rng.IntN(4), []string{"echo", "progress", "garbage", "change"}[rng.IntN(4)])
		if rng.IntN(10) == 0 {
			line = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
		}
		reply := send(line)
		if reply == nil {
			return
		}
		switch m := reply.Answer(t); {
		case m.Error == nil:
			ok.Add(1)
		case m.Error.Code == -32603:
			told.Add(1)
		default:
			wrong.Add(1)
			t.Errorf("%s: %s", line, m.Raw)
		}
	}
	c.Header.Set("Connection", "close")
	if rng.IntN(2) == 0 {
		send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`) // leaves without closing the session
	} else {
		if reply, err := c.Try(ctx, http.MethodDelete, ""); err == nil && reply.Status >= 400 {
			t.Errorf("ending a session: %d", reply.Status)
		}
	}
}

// touch changes the file now and then: it adds or removes a server.
func touch(t *testing.T, ctx context.Context, path, config string) {
	tick := time.NewTicker(max(soakTime(t)/60, time.Second))
	defer tick.Stop()
	more := config[:len(config)-2] + fmt.Sprintf(`,"extra":{"command":%q,"args":["-role","time"]}}}`, mcptest.Build(t))
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := os.WriteFile(path, []byte([]string{more, config}[i%2]), 0o600); err != nil {
			t.Error(err)
		}
	}
}
