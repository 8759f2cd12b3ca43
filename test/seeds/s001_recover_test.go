package seeds

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// TestDocument001Interruption cuts the network to a server over HTTP and
// restores it.
func TestDocument001Interruption(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	far := mcptest.Start(t, mcptest.Program{Path: mcptest.Build(t), Args: []string{"-role", "demo", "-http", "127.0.0.1:0", "-journal", journal}})
	address := strings.TrimPrefix(far.Listening(), "http://")
	w := mcptest.GatewayStdio(t, serversConfig("far", fmt.Sprintf(`{"type":"http","url":"http://%s/mcp","restartDelay":"200ms"}`, address)))
	shake(t, stdioWire{w})
	before := w.Ask(request(2, "tools/list", "")).Result
	w.Ask(request(3, "resources/subscribe", `{"uri":"demo://clock"}`))
	w.Notification("notifications/resources/updated")
	w.Send(request(4, "tools/call", `{"name":"far__long_task","arguments":{"seconds":600,"steps":600,"token":"once"},"_meta":{"progressToken":"p"}}`))
	w.Notification("notifications/progress")
	far.Signal(syscall.SIGKILL)
	far.Wait(patience)
	back := mcptest.Start(t, mcptest.Program{Path: mcptest.Build(t), Args: []string{"-role", "demo", "-http", address, "-journal", journal}})
	back.Listening()
	t.Run("req/S001-72", func(t *testing.T) {
		m := w.Answer("4")
		var data struct {
			Reason    string
			Retryable bool
			Service   string
		}
		if m.Error == nil {
			t.Fatalf("got %s", m.Raw)
		}
		decode(t, m.Error.Data, &data)
		if m.Error.Code != -32603 || data.Reason != "upstream_closed" || data.Retryable || data.Service != "far" {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("req/S001-70", func(t *testing.T) {
		eventually(t, func() bool {
			m := w.Ask(call(5, "far__echo", `{"message":"back"}`))
			return m.Error == nil && textOf(t, m) == "back"
		})
	})
	t.Run("req/S001-71", func(t *testing.T) {
		if after := w.Ask(request(6, "tools/list", "")).Result; string(after) != string(before) {
			t.Errorf("the list changed:\n%s\n%s", before, after)
		}
		claimed := len(w.Unclaimed())
		for range claimed + 1 { // one of them is newer than the cut
			w.Notification("notifications/resources/updated")
		}
	})
	t.Run("req/S001-74", func(t *testing.T) {
		if n := mcptest.Journal(t, journal)["once"]; n != 1 {
			t.Errorf("the call that was cut off ran %d times", n)
		}
	})
}

// eventually calls holds until it returns true. Each call asks the gateway, which
// takes the time.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	const limit = 20 * time.Second
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("not within %v", limit)
		}
	}
}

// TestDocument001Crash kills the process of a server over stdio.
func TestDocument001Crash(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	entry := strings.TrimSuffix(child(t, "-role", "hostile", "-journal", journal), "}") + `,"restartDelay":"100ms"}`
	over(t, serversConfig("fragile", entry, "steady", child(t, "-role", "demo")), func(t *testing.T, w wire) {
		shake(t, w)
		pid := func() int {
			n, err := strconv.Atoi(textOf(t, w.ask(call(2, "fragile__pid", `{}`))))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		first := pid()
		if err := mcptest.Kill(first); err != nil {
			t.Fatal(err)
		}
		t.Run("req/S001-73", func(t *testing.T) {
			eventually(t, func() bool {
				m := w.ask(call(3, "fragile__pid", `{}`))
				return m.Error == nil && textOf(t, m) != fmt.Sprint(first)
			})
		})
		t.Run("req/S001-73/in a call", func(t *testing.T) {
			m := w.ask(call(4, "fragile__crash", `{"token":"crash-`+t.Name()+`"}`))
			if m.Error == nil || !strings.Contains(string(m.Error.Data), "upstream_closed") {
				t.Errorf("got %s", m.Raw)
			}
			eventually(t, func() bool { return w.ask(call(5, "fragile__pid", `{}`)).Error == nil })
			if n := mcptest.Journal(t, journal)["crash-"+t.Name()]; n != 1 {
				t.Errorf("the call that crashed the server ran %d times", n)
			}
		})
		if got := textOf(t, w.ask(call(6, "steady__echo", `{"message":"x"}`))); got != "x" {
			t.Errorf("the other server: %q", got)
		}
	})
}

// TestDocument001ClientReturns has a client lose its session, or its process,
// and come back.
func TestDocument001ClientReturns(t *testing.T) {
	t.Run("req/S001-75", func(t *testing.T) {
		p := mcptest.Gateway(t, example(t))
		w := newHTTPWire(t, p.URL+"/mcp")
		shake(t, w)
		if reply := w.raw.Do("DELETE", ""); reply.Status/100 != 2 {
			t.Fatalf("ending the session: %d %s", reply.Status, reply.Body)
		}
		if reply := w.raw.Post(request(2, "tools/list", "")); reply.Status != 404 {
			t.Errorf("in the session that ended: %d %s", reply.Status, reply.Body)
		}
		again := newHTTPWire(t, p.URL+"/mcp")
		shake(t, again)
		if m := again.ask(call(3, "example_tool", `{"param1":"x"}`)); m.Error != nil {
			t.Errorf("in the next one: %s", m.Raw)
		}
	})
	t.Run("req/S001-75/stdio", func(t *testing.T) {
		config := mcptest.WriteConfig(t, example(t))
		for range 2 {
			w := mcptest.StartStdio(t, mcptest.Program{
				Path: mcptest.BuildProduct(t), Args: []string{"stdio", "--mcp-config", config}, Env: []string{"HOME=" + t.TempDir()},
			})
			shake(t, stdioWire{w})
			if m := w.Ask(call(3, "example_tool", `{"param1":"x"}`)); m.Error != nil {
				t.Error(m.Raw)
			}
			w.Signal(os.Kill)
			w.Wait(patience)
		}
	})
	t.Run("req/S001-74/config", func(t *testing.T) {
		// Dying at any moment leaves the file unchanged.
		path := mcptest.WriteConfig(t, example(t))
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w := mcptest.StartStdio(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"stdio", "--mcp-config", path}, Env: []string{"HOME=" + t.TempDir()},
		})
		w.Ask(request(1, "ping", ""))
		w.Signal(os.Kill)
		w.Wait(patience)
		now, err := os.ReadFile(path)
		if err != nil || string(now) != string(was) || !json.Valid(now) {
			t.Errorf("the file: %s, %v", now, err)
		}
	})
}
