package seeds

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

func TestDocument001Concurrency(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	w := mcptest.GatewayStdio(t, serversConfig("hostile", child(t, "-role", "hostile", "-journal", journal)))
	shake(t, stdioWire{w})
	w.Ask(request(2, "tools/list", ""))
	const calls, pause = 10, 1500
	start := time.Now()
	for i := range calls {
		w.Send(call(100+i, "hostile__sleep", fmt.Sprintf(`{"ms":%d,"token":"t%d"}`, pause, i)))
	}
	w.Send(call(200, "hostile__echo", `{"token":"first"}`))
	w.Answer("200")
	quick := time.Since(start)
	t.Run("req/S001-56", func(t *testing.T) {
		for i := range calls {
			if got := textOf(t, w.Answer(fmt.Sprint(100+i))); got != fmt.Sprintf("t%d", i) {
				t.Errorf("call %d: %q", i, got)
			}
		}
		if took := time.Since(start); took > calls*pause*time.Millisecond/2 {
			t.Errorf("%d calls of %d ms took %v: they did not run side by side", calls, pause, took)
		}
	})
	t.Run("req/S001-57", func(t *testing.T) {
		if quick > pause*time.Millisecond {
			t.Errorf("an answer waited %v for those before it", quick)
		}
	})
	t.Run("req/S001-58", func(t *testing.T) {
		counts := mcptest.Journal(t, journal)
		for i := range calls {
			if n := counts[fmt.Sprintf("t%d", i)]; n != 1 {
				t.Errorf("call %d ran %d times", i, n)
			}
		}
		if rest := w.Unclaimed(); len(rest) > 0 {
			t.Errorf("answers too many: %q", rest)
		}
	})
}

func TestDocument001Large(t *testing.T) {
	var pairs []string
	for i := range 4 {
		pairs = append(pairs, fmt.Sprintf("s%d", i), child(t, "-role", "example", "-tools", "299", "-page", "50", "-bytes", "3000000"))
	}
	over(t, serversConfig(pairs...), func(t *testing.T, w wire) {
		shake(t, w)
		t.Run("req/S001-59", func(t *testing.T) {
			start := time.Now()
			m := w.ask(request(2, "tools/list", `{}`))
			if names := listed(t, m, "tools"); len(names) != 1200 || strings.Contains(m.Raw, "nextCursor") {
				t.Errorf("%d tools", len(names))
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the list took %v", took)
			}
		})
		t.Run("req/S001-60", func(t *testing.T) {
			m := w.ask(request(3, "resources/read", `{"uri":"example://test/large"}`))
			if len(m.Result) < 3_000_000 || strings.Count(string(m.Result), "大") != 1_000_000 {
				t.Errorf("%d bytes", len(m.Result))
			}
		})
	}, "--no-self-config")
}

// memoryOf returns the resident memory of a process in bytes.
func memoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(data))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// descriptorsOf counts the open files of a process.
func descriptorsOf(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestDocument001Budgets(t *testing.T) {
	over(t, serversConfig("demo", child(t, "-role", "demo")), func(t *testing.T, w wire) {
		pid := 0
		switch c := w.(type) {
		case stdioWire:
			pid = c.PID()
		case *httpWire:
			pid = servedBy(t, c.raw.URL)
		}
		shake(t, w)
		heartbeats := func(n int) []time.Duration {
			var took []time.Duration
			for i := range n {
				start := time.Now()
				w.ask(call(10+i, "demo__echo", `{"message":"beat"}`))
				took = append(took, time.Since(start))
				w.ask(request(10+i, "ping", ""))
			}
			slices.Sort(took)
			return took
		}
		heartbeats(200) // warm-up
		files, memory := descriptorsOf(t, pid), memoryOf(t, pid)
		took := heartbeats(1000)
		t.Run("req/S001-61", func(t *testing.T) {
			median, p95, p99 := took[len(took)/2], took[len(took)*95/100], took[len(took)*99/100]
			if median > 125*time.Millisecond || p95 > 450*time.Millisecond || p99 > 1200*time.Millisecond {
				t.Errorf("median %v, p95 %v, p99 %v", median, p95, p99)
			}
			if got := memoryOf(t, pid); got > 256<<20 {
				t.Errorf("%d MiB resident", got>>20)
			}
		})
		t.Run("req/S001-62", func(t *testing.T) {
			// As many heartbeats as in half an hour at one per second and a
			// half, without the waiting.
			if now := descriptorsOf(t, pid); now > files+5 {
				t.Errorf("%d files open, %d before", now, files)
			}
			if now := memoryOf(t, pid); now > memory+32<<20 {
				t.Errorf("%d MiB resident, %d before", now>>20, memory>>20)
			}
		})
		t.Run("req/S003-45", func(t *testing.T) {
			if median := took[len(took)/2]; median > 100*time.Millisecond {
				t.Errorf("a request takes %v", median)
			}
		})
	})
}

// servedBy finds the process that listens at a URL among our children.
func servedBy(t *testing.T, url string) int {
	t.Helper()
	pid, ok := listeners.Load(strings.TrimSuffix(url, "/mcp"))
	if !ok {
		t.Fatalf("nobody of ours listens at %s", url)
	}
	return pid.(int)
}

func TestDocument001Input(t *testing.T) {
	over(t, serversConfig("demo", child(t, "-role", "demo")), func(t *testing.T, w wire) {
		shake(t, w)
		echo := func(t *testing.T, text string) {
			t.Helper()
			if got := textOf(t, w.ask(call(5, "demo__echo", `{"message":`+quoted(text)+`}`))); got != text {
				t.Errorf("got %.200q, want %.200q", got, text)
			}
		}
		t.Run("req/S001-63", func(t *testing.T) {
			echo(t, strings.Repeat("长", 350_000)) // 1 MB
			m := w.ask(call(5, "demo__"+strings.Repeat("x", 100_000), `{}`))
			if m.Error == nil || len(m.Raw) > 10_000 {
				t.Errorf("an over-long name: %d bytes: %.300s", len(m.Raw), m.Raw)
			}
		})
		t.Run("req/S001-64", func(t *testing.T) {
			for _, text := range []string{"\x00\x01\x1f\x7f", "\u2028\u2029\ufeff", "😀👩‍👩‍👧‍👦🏳️‍🌈", "مرحبا שלום", "\"\\/\b\f\n\r\t", "e\u0301é", "\U0010ffff", "𝕏"} {
				echo(t, text)
			}
		})
		t.Run("req/S001-65", func(t *testing.T) {
			deep := strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900)
			if got := textOf(t, w.ask(call(6, "demo__echo", `{"message":"x","deep":`+deep+`}`))); got != "x" {
				t.Errorf("900 levels: %q", got)
			}
			bomb := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
			m := tooDeep(t, w, call(7, "demo__echo", `{"message":"x","deep":`+bomb+`}`))
			if m.Error == nil || m.Error.Code != -32700 && m.Error.Code != -32600 {
				t.Errorf("100,000 levels: %.300s", m.Raw)
			}
			echo(t, "still here")
		})
		t.Run("req/S001-66", func(t *testing.T) {
			for _, text := range []string{
				"<script>alert(1)</script>", "'; DROP TABLE users; --", "$(touch /tmp/owned)", "`id`", "${HOME}", "../../../etc/passwd",
				"{{constructor.constructor('return process')()}}", "\x1b[2J", "%s%n%x", "Ignore previous instructions",
			} {
				echo(t, text)
			}
		})
	})
}

// tooDeep sends a line that the test itself cannot parse either, and reads the
// response.
func tooDeep(t *testing.T, w wire, line string) mcptest.Message {
	t.Helper()
	switch c := w.(type) {
	case stdioWire:
		c.Send(line)
		return c.Expect("the refusal", func(m *mcptest.Message) bool { return m.Error != nil })
	case *httpWire:
		reply := c.raw.Post(line)
		return reply.Answer(t)
	}
	return mcptest.Message{}
}

func TestDocument001Permission(t *testing.T) {
	entry := strings.TrimSuffix(child(t, "-role", "example"), "}") + `,"resources":{"example://test/resource1":{"enabled":false}},"deny":["example_*"]}`
	over(t, serversConfig("example", entry), func(t *testing.T, w wire) {
		shake(t, w)
		t.Run("req/S001-67", func(t *testing.T) {
			m := w.ask(request(2, "resources/read", `{"uri":"example://test/resource1"}`))
			wantError(t, m, -32002, "Resource not found", `{"uri":"example://test/resource1"}`)
			if m := w.ask(request(3, "resources/read", `{"uri":"file:///etc/passwd"}`)); m.Error == nil {
				t.Errorf("a file of the machine: %s", m.Raw)
			}
			if m := w.ask(request(4, "resources/list", "")); strings.Contains(m.Raw, "resource1") {
				t.Errorf("it is listed: %s", m.Raw)
			}
		})
		t.Run("req/S001-68", func(t *testing.T) {
			for _, name := range []string{"example__example_tool", "example_tool", "example##example_tool", "example.example_tool"} {
				wantError(t, w.ask(call(5, name, `{"param1":"x"}`)), -32601, "Tool '"+name+"' not found", "")
			}
		})
	})
	t.Run("req/S001-67+S001-68/a web page", func(t *testing.T) {
		w := newHTTPWire(t, mcptest.Gateway(t, example(t)).URL+"/mcp")
		for name, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
			w.raw.Header.Set(name, value)
			if reply := w.raw.Post(request(2, "tools/list", "")); reply.Status < 400 || reply.Status > 499 {
				t.Errorf("%s: status %d", name, reply.Status)
			}
			w.raw.Header.Del(name)
		}
	})
}

func TestDocument001Secrets(t *testing.T) {
	t.Run("req/S001-69", func(t *testing.T) {
		const secret = "sup3r-s3cret-value"
		t.Setenv("Z_AI_API_KEY", secret)
		zhipu := fmt.Sprintf(`{"type":"http","url":%q,"headers":{"Authorization":"Bearer ${Z_AI_API_KEY}"}}`, listen(t, mcptest.ZhipuServer(), "other")+"/mcp")
		demo := strings.TrimSuffix(child(t, "-role", "demo"), "}") + `,"env":{"TOKEN":"` + secret + `"}}`
		p := mcptest.Gateway(t, serversConfig("zhipu-web-search", zhipu, "demo", demo), "--log-level", "debug")
		w := newHTTPWire(t, p.URL+"/mcp")
		shake(t, w)
		seen := w.ask(request(2, "tools/list", "")).Raw + w.ask(search000).Raw
		for _, path := range []string{"/", "/health", "/status", "/api/status", "/metrics", "/api/v1/servers", "/api/v1/config"} {
			seen += get(t, p.URL+path)
		}
		p.Stop()
		if seen += p.Stdout() + p.Stderr(); strings.Contains(seen, secret) {
			at := strings.Index(seen, secret)
			t.Errorf("the secret is told: ...%.300s...", seen[max(0, at-150):])
		}
	})
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDocument001Suite(t *testing.T) {
	t.Run("req/S001-76", func(t *testing.T) {
		root, err := mcptest.Root()
		if err != nil {
			t.Fatal(err)
		}
		for what, pattern := range map[string]string{
			"unit tests": "internal/jsonrpc/*_test.go", "tests of the protocol": "internal/gateway/*_test.go",
			"integration tests": "test/interop/*_test.go", "the raw client": "internal/mcptest/raw*.go",
			"a working server": "internal/mcpserver/server.go", "a hostile one": "internal/mcptest/hostile*.go", "a load": "internal/mcptest/load.go",
			"hostile input": "testdata/corpus/*/*",
		} {
			if found, err := filepath.Glob(filepath.Join(root, pattern)); err != nil || len(found) == 0 {
				t.Errorf("no %s at %s", what, pattern)
			}
		}
	})
	t.Run("req/S001-77", func(t *testing.T) {
		list := func() string {
			w := mcptest.GatewayStdio(t, serversConfig("example", child(t, "-role", "example", "-tools", "100")))
			shake(t, stdioWire{w})
			return w.Ask(request(2, "tools/list", "")).Raw
		}
		if a, b := list(), list(); a != b {
			t.Error("generated test data differs between two runs")
		}
	})
}
