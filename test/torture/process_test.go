package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/figures"
)

// marked returns the processes with a mark in their environment.
func marked(t *testing.T, mark string) []int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains(string(env), "TORTURE_MARK="+mark+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stubborn returns a config of servers that refuse to exit.
func stubborn(t *testing.T, mark string) string {
	fake := mcptest.Build(t)
	var entries []string
	for i, mode := range []string{"grandchild", "ignore-term", "ignore-term,setsid"} {
		entries = append(entries, fmt.Sprintf(`"s%d":{"command":%q,"args":["-role","hostile","-mode",%q],"env":{"TORTURE_MARK":%q}}`, i, fake, mode, mark))
	}
	return fmt.Sprintf(`{"mcpServers":{%s}}`, strings.Join(entries, ","))
}

// TestOrphans checks that no process outlives a killed gateway.
func TestOrphans(t *testing.T) {
	t.Run("fault/T10", func(t *testing.T) {
		worst := time.Duration(0)
		runs := figures.Size(2, 100)
		for i := range runs {
			mark := fmt.Sprintf("%d-%d", os.Getpid(), i)
			gateway := mcptest.Gateway(t, stubborn(t, mark))
			ready(t, gateway)
			if n := len(marked(t, mark)); n != 5 {
				t.Fatalf("%d processes, want 5", n)
			}
			begun := time.Now()
			gateway.Signal(syscall.SIGKILL)
			eventually(t, "end of all processes", 3*time.Second, func() bool { return len(marked(t, mark)) == 0 })
			worst = max(worst, time.Since(begun))
		}
		figures.Report(t, "T10", "gateway killed %d times with 3 stubborn servers (5 processes, one in a session of its own): 0 left, the last gone after %v at most", runs, worst.Round(time.Millisecond))
	})
}

// TestDrain checks that running calls finish within the bound, and that all
// others get an error.
func TestDrain(t *testing.T) {
	t.Run("fault/T09", func(t *testing.T) {
		runs, finished, told := figures.Size(1, 100), 0, 0
		var worst time.Duration
		for range runs {
			f, d, took := drain(t)
			finished, told, worst = finished+f, told+d, max(worst, took)
		}
		figures.Report(t, "T09", "%d times SIGTERM with 200 calls of 0 to 3 s in flight, 100 streams and a bound of 2 s: %d finished, %d told that we are draining, 0 lost; exit 0 after %v at most, no child left",
			runs, finished, told, worst.Round(time.Millisecond))
	})
}

func drain(t *testing.T) (finished, told int, took time.Duration) {
	mark := fmt.Sprintf("drain-%d-%d", os.Getpid(), time.Now().UnixNano())
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"limits":{"drain":"2s"},"mcpServers":{"s0":{"command":%q,"args":["-role","hostile"],"env":{"TORTURE_MARK":%q}}}}`, mcptest.Build(t), mark))
	ready(t, gateway)
	var wg sync.WaitGroup
	outcomes := make(chan string, 200)
	for s := range 10 {
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		for range 10 {
			go c.Do(http.MethodGet, "")
		}
		for i := range 20 {
			ms := (s*20 + i) * 15
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s0__sleep","arguments":{"ms":%d,"token":"t%d"}}}`, i, ms, s*20+i))
				outcomes <- outcome(reply, err, ms)
			})
		}
	}
	eventually(t, "calls in flight", patience, func() bool { return len(outcomes) > 3 })
	begun := time.Now()
	gateway.Signal(syscall.SIGTERM)
	eventually(t, "readiness refused", time.Second, func() bool {
		resp, err := http.Get(gateway.URL + "/ready")
		if err != nil {
			return true // it no longer listens
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	if code := gateway.Wait(10*time.Second + patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	took = time.Since(begun)
	if took > 10*time.Second {
		t.Errorf("it took %v to end", took)
	}
	wg.Wait()
	close(outcomes)
	for o := range outcomes {
		switch o {
		case "ok":
			finished++
		case "draining", "cancelled":
			told++
		default:
			t.Error(o)
		}
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	return finished, told, took
}

func outcome(reply *mcptest.Reply, err error, ms int) string {
	if err != nil {
		return fmt.Sprintf("a call of %d ms was lost: %v", ms, err)
	}
	if len(reply.Messages) != 1 {
		return fmt.Sprintf("a call of %d ms got %d answers: %.200s", ms, len(reply.Messages), reply.Body)
	}
	m := reply.Messages[0]
	if m.Error == nil {
		return "ok"
	}
	var data struct{ Reason string }
	_ = json.Unmarshal(m.Error.Data, &data) // an empty reason matches no case
	if data.Reason == "cancelled" && ms < 1000 {
		return fmt.Sprintf("a call of %d ms was not let finish", ms)
	}
	return data.Reason
}

// TestRestarts checks that restarted servers leave nothing behind.
func TestRestarts(t *testing.T) {
	t.Run("fault/T11", func(t *testing.T) {
		f := hostiles(t, 4, `,"restartDelay":"1ms","retries":1000`)
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
		c.Initialize(mcp.LatestLegacy, `{}`)
		total := figures.Size(24, 1000)
		var files int
		var memory float64
		zombies := 0
		for i := range total {
			if i == total/10 { // warmed up
				ready(t, gateway)
				files, memory = descriptors(t, gateway.PID()), rss(t, gateway.PID())
			}
			tool := []string{"crash", "exit", "pid"}[i%3]
			reply := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s%d__%s","arguments":{}}}`, i, i%4, tool))
			if m := reply.Answer(t); tool == "pid" && m.Error == nil {
				var result struct{ Content []struct{ Text string } }
				if json.Unmarshal(m.Result, &result) == nil && len(result.Content) == 1 {
					if pid, err := strconv.Atoi(result.Content[0].Text); err == nil {
						mcptest.Kill(pid)
					}
				}
			}
			zombies += countZombies(t, gateway.PID())
		}
		ready(t, gateway)
		eventually(t, "files given back", patience, func() bool { return descriptors(t, gateway.PID()) <= files+5 })
		after := rss(t, gateway.PID())
		if after > memory+20 {
			t.Errorf("RSS grew from %.0f to %.0f MiB", memory, after)
		}
		if zombies > 0 {
			t.Errorf("%d zombies seen", zombies)
		}
		figures.Report(t, "T11", "%d restarts (crash, exit 0, SIGKILL): 0 zombies, %d descriptors before and %d after, RSS %.0f and %.0f MiB", total, files, descriptors(t, gateway.PID()), memory, after)
	})
}

// countZombies counts the unreaped children of a process.
func countZombies(t *testing.T, parent int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range tasks {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for pid := range strings.FieldsSeq(string(data)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err == nil && strings.Contains(string(stat), ") Z ") {
				n++
			}
		}
	}
	return n
}

// TestBadStart starts a gateway of which half of the servers do not start.
func TestBadStart(t *testing.T) {
	t.Run("fault/T12", func(t *testing.T) {
		fake := mcptest.Build(t)
		var entries []string
		for i, mode := range []string{"", "hang-init", "", "exit-start", "", "banner", "", "hang-init", "", "exit-start"} {
			entries = append(entries, fmt.Sprintf(`"s%d":{"command":%q,"args":["-role","hostile","-mode",%q]}`, i, fake, mode))
		}
		config := fmt.Sprintf(`{"startWait":"3s","mcpServers":{%s}}`, strings.Join(entries, ","))
		runs := figures.Size(1, 50)
		var listening, listed time.Duration
		for range runs {
			begun := time.Now()
			gateway := mcptest.Gateway(t, config)
			listening = max(listening, time.Since(begun))
			c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
			c.Initialize(mcp.LatestLegacy, `{}`)
			m := c.Post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Answer(t)
			listed = max(listed, time.Since(begun))
			for _, i := range []int{0, 2, 4, 5, 6, 8} {
				if !strings.Contains(m.Raw, fmt.Sprintf(`"s%d__echo"`, i)) {
					t.Errorf("server %d is missing in the list", i)
				}
			}
			best := patience
			for range 3 { // the machine may be busy
				begun = time.Now()
				c.Post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
				best = min(best, time.Since(begun))
			}
			if best > 50*time.Millisecond {
				t.Errorf("a later list took %v", best)
			}
			gateway.Stop()
		}
		figures.Report(t, "T12", "%d starts with 4 of 10 servers that hang or exit: listening after %v, list of the healthy after %v (startWait 3 s)", runs, listening.Round(time.Millisecond), listed.Round(time.Millisecond))
	})
}
