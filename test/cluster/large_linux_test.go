package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// TestLarge passes large responses, slow readers and many streams through a
// second replica.
func TestLarge(t *testing.T) {
	c := start(t, 2, options{})
	home, other := c.replicas[0], c.replicas[1]
	t.Run("fault/T49/cancel", func(t *testing.T) {
		s := client(t, home, `{}`)
		running := at(s, other).Stream(http.MethodPost, call(7, "back__wait", "cancelled"))
		<-c.back.started
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		s.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		select {
		case token := <-c.back.ended:
			if token != "cancelled" {
				t.Errorf("%q ended", token)
			}
		case <-ctx.Done():
			t.Error("the server was not told")
		}
		running.Close()
	})
	t.Run("fault/T49/streams", func(t *testing.T) {
		open := func(r *replica) (all []*mcptest.Events, each int) {
			var sessions []*mcptest.RawHTTP
			for range figures.Size(20, 1000) {
				sessions = append(sessions, client(t, home, `{}`))
			}
			before := home.resident() + other.resident()
			for _, s := range sessions {
				all = append(all, at(s, r).Stream(http.MethodGet, ""))
			}
			return all, (home.resident() + other.resident() - before) / len(all)
		}
		near, local := open(home)
		all, each := open(other)
		if figures.Full() && each > 45 {
			t.Errorf("a stream that is handed over takes %d KiB", each)
		}
		s := client(t, home, `{}`)
		for i := range 20 {
			wants(t, at(s, other).Post(call(i, "back__echo", fmt.Sprint("beside ", i))).Answer(t), fmt.Sprint("beside ", i))
		}
		if n := connections(t, home.peer); n > len(all)/2 {
			t.Errorf("%d streams take %d connections between the replicas", len(all), n)
		}
		for _, e := range append(near, all...) {
			e.Close()
		}
		figures.Report(t, "T49", "cancel reaches the server; %d streams handed over, %d KiB each on both replicas together, %d KiB where they are not handed over", len(all), each, local)
	})
	t.Run("fault/T49/large", func(t *testing.T) {
		mb := figures.Size(4, 64)
		peak, slowest := map[string]int{}, map[string]time.Duration{}
		for _, r := range []*replica{home, other} {
			name := map[*replica]string{home: "local", other: "handed over"}[r]
			s := client(t, home, `{}`)
			small := client(t, home, `{}`)
			clear, _ := quickest(t, at(small, r))
			ctx, stop := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			for i := range 2 {
				readers.Go(func() { slowly(ctx, t, s, r, 100+i, mb<<20) })
			}
			beside, p99 := quickest(t, small)
			stop()
			readers.Wait()
			peak[name], slowest[name] = home.peak(t)+other.peak(t), p99
			figures.Report(t, "T49", "%s: p50 of small calls %v, %v beside two answers of %d MiB to slow readers (p99 %v); peak RSS of both %d MiB", name, clear, beside, mb, p99, peak[name])
		}
		if far, near := slowest["handed over"], slowest["local"]; figures.Full() && far > 3*near {
			t.Errorf("small calls that are handed over take %v (p99), others %v", far, near)
		}
		if far, near := peak["handed over"], peak["local"]; far > near*12/10+8 {
			t.Errorf("answers that are handed over take %d MiB, others %d", far, near)
		}
	})
}

// quickest returns the median time of some small calls, and the 99th percentile.
func quickest(t *testing.T, s *mcptest.RawHTTP) (p50, p99 time.Duration) {
	t.Helper()
	var took []time.Duration
	for i := range figures.Size(50, 500) {
		began := time.Now()
		wants(t, s.Post(call(i, "back__echo", "small")).Answer(t), "small")
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), took[len(took)*99/100].Round(10 * time.Microsecond)
}

// slowly reads a response in small steps, until ctx ends.
func slowly(ctx context.Context, t *testing.T, s *mcptest.RawHTTP, r *replica, id, size int) {
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"back__large","arguments":{"token":"large-%[1]d","size":%d}}}`, id, size)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url(), strings.NewReader(line))
	if err != nil {
		t.Error(err)
		return
	}
	req.Header = s.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return
	}
	defer resp.Body.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.CopyN(io.Discard, resp.Body, 16<<10); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// peak returns the peak memory of the replica, in MiB.
func (r *replica) peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// connections counts the open connections to an address of this machine.
func connections(t *testing.T, address string) (n int) {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			// The third field is the other end, the fourth the state; 01 is established.
			if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", number)) && f[3] == "01" {
				n++
			}
		}
	}
	return n
}
