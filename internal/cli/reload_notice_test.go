package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestOneNoticePerEdit counts the notifications to a client while the file
// changes and other clients work: one list_changed of each kind per edit.
func TestOneNoticePerEdit(t *testing.T) {
	t.Run("fault/T17", func(t *testing.T) {
		dir := t.TempDir()
		f := &farm{t: t, path: filepath.Join(dir, "mcp.json"), bin: mcptest.Build(t)}
		must.OK(t, f.write(""))
		product := mcptest.BuildProduct(t)
		f.process = mcptest.Start(t, mcptest.Program{
			Path: product, Args: []string{"http", "-p", "0", "-c", f.path}, Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
		})
		f.url = f.process.Listening()
		if _, err := f.until("the start", ready("left", "right")); err != nil {
			t.Fatal(err)
		}
		told := f.listen(t)
		third := fmt.Sprintf(`,"third":{"command":%q,"args":["demo"]}`, product)
		const edits = 6
		done := make(chan error, 1)
		go func() { done <- told.edit(edits, func(i int) error { return f.hangup([]string{third, ""}[i%2]) }) }()
		for running := true; running; {
			out := mcptest.Load{URL: f.url + "/mcp", Clients: 4, Calls: 50, Tools: []string{"left__echo", "right__echo"}}.Run(t)
			if len(out.Errors) > 0 || len(out.Wrong) > 0 {
				t.Fatalf("failed calls: %v %.500s", out.Errors, fmt.Sprint(out.Wrong))
			}
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
			}
		}
		for _, kind := range listKinds {
			if n := told.heard["notifications/"+kind+"/list_changed"]; n != edits {
				t.Errorf("%s: told %d times about %d edits", kind, n, edits)
			}
		}
	})
}

var listKinds = []string{"tools", "prompts", "resources"}

// hangup changes the file and sends SIGHUP.
func (f *farm) hangup(others string) error {
	if err := f.write(others); err != nil {
		return err
	}
	f.process.Signal(syscall.SIGHUP)
	return nil
}

// notices counts the list_changed notifications of one client.
type notices struct {
	events *mcptest.Events
	heard  map[string]int
}

// listen opens a session that has read every list, and its stream.
func (f *farm) listen(t *testing.T) *notices {
	c := mcptest.NewRawHTTP(t, f.url+"/mcp")
	c.Initialize("2025-06-18", `{}`)
	for i, kind := range listKinds {
		c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s/list"}`, i+1, kind))
	}
	c.Header.Set("Accept", "text/event-stream")
	return &notices{c.Stream(http.MethodGet, ""), map[string]int{}}
}

// edit makes changes, each after every kind of notification of the previous
// one.
func (n *notices) edit(times int, change func(int) error) error {
	for i := range times {
		if err := change(i); err != nil {
			return err
		}
		for n.waits(i + 1) {
			event := n.events.Next()
			if event == nil {
				return errors.New("the stream ended")
			}
			var m struct{ Method string }
			if event.Data != "" && json.Unmarshal([]byte(event.Data), &m) == nil {
				n.heard[m.Method]++
			}
		}
	}
	return nil
}

// waits reports whether a kind was received fewer than that many times.
func (n *notices) waits(times int) bool {
	for _, kind := range listKinds {
		if n.heard["notifications/"+kind+"/list_changed"] < times {
			return true
		}
	}
	return false
}

// TestReloadRoute reloads the file through the API, which needs an
// administrator.
func TestReloadRoute(t *testing.T) {
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	path := filepath.Join(dir, "mcp.json")
	write := func(servers string) {
		t.Helper()
		must.Write(t, path, fmt.Sprintf(`{"access":{"keys":%q},"mcpServers":{%s}}`, filepath.Join(dir, "keys.json"), servers))
	}
	demo := fmt.Sprintf(`{"command":%q,"args":["demo"]}`, binary)
	write(`"one":` + demo + `,"gone":` + demo)
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	key := func(args ...string) string {
		return output(t, env, append([]string{"key", "create", "-c", path}, args...)...)
	}
	boss, user := key("boss", "--scope", "admin"), key("user")
	url := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path}, Env: env}).Listening()
	reload := func(key string) (int, string) {
		t.Helper()
		return ask(t, http.MethodPost, url+"/api/v1/reload", "", "Authorization", "Bearer "+key, "X-MCP-AIO", "1")
	}
	write(`"one":` + demo + `,"two":` + demo)
	if status, body := reload(user); status != http.StatusForbidden {
		t.Errorf("without the scope: %d %s", status, body)
	}
	status, body := reload(boss)
	var report struct{ Added, Removed, Changed, Problems []string }
	if err := json.Unmarshal([]byte(body), &report); status != http.StatusOK || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	if fmt.Sprint(report.Added, report.Removed, report.Changed) != "[default/two] [default/gone] []" {
		t.Errorf("the report is %s", body)
	}
	write(`"one":`)
	if status, body := reload(boss); status != http.StatusUnprocessableEntity || !strings.Contains(body, "AIO2009") {
		t.Errorf("half a file: %d %s", status, body)
	}
	write(`"one":` + demo + `,"two":` + demo)
	if status, body := reload(boss); status != http.StatusOK || !strings.Contains(body, `"added":[],"removed":[],"changed":[]`) {
		t.Errorf("after the half file: %d %s", status, body)
	}
}
