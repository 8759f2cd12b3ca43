package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A farm is a running gateway that watches its file.
type farm struct {
	t    *testing.T
	path string
	url  string
	bin  string
	// process is the gateway process.
	process *mcptest.Process
}

// entry returns a server that answers with the token that it is given.
func (f *farm) entry(args ...string) string {
	raw, _ := json.Marshal(append([]string{"-role", "hostile"}, args...))
	return fmt.Sprintf(`{"command":%q,"args":%s}`, f.bin, raw)
}

// write replaces the file atomically, as editors do.
func (f *farm) write(others string) error {
	content := `{"mcpServers":{"left":` + f.entry() + `,"right":` + f.entry("-page", "1") + others + `}}`
	next := f.path + ".next"
	if err := os.WriteFile(next, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.path)
}

// truncate truncates the file to half its size.
func (f *farm) truncate() error {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	return os.WriteFile(f.path, data[:len(data)/2], 0o600)
}

// pids returns the processes of the servers by name, or the state of a server
// that does not run.
func (f *farm) pids() (map[string]string, error) {
	resp, err := http.Get(f.url + "/status")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var page struct {
		Schemas map[string]struct {
			MCPServers []struct {
				Name, Status string
				PID          int
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return nil, err
	}
	pids := map[string]string{}
	for _, s := range page.Schemas["default"].MCPServers {
		pids[s.Name] = fmt.Sprint(s.Status, " ", s.PID)
	}
	return pids, nil
}

// until waits for a state of the servers.
func (f *farm) until(what string, ok func(map[string]string) bool) (map[string]string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	var pids map[string]string
	for {
		var err error
		if pids, err = f.pids(); err != nil {
			return nil, err
		}
		if ok(pids) {
			return pids, nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return nil, fmt.Errorf("waiting for %s: %v", what, pids)
		}
	}
}

func ready(names ...string) func(map[string]string) bool {
	return func(pids map[string]string) bool {
		for _, name := range names {
			if !strings.HasPrefix(pids[name], "ready ") {
				return false
			}
		}
		return len(pids) == len(names)
	}
}

// edits changes the file in every possible way, and waits until each change is
// in effect.
func (f *farm) edits() error {
	third := func(args ...string) string { return `,"third":` + f.entry(args...) }
	for range 2 {
		for _, step := range []struct {
			what   string
			others string
			want   func(map[string]string) bool
		}{
			{"add", third(), ready("left", "right", "third")},
			{"change", third("-bytes", "100"), ready("left", "right", "third")},
			{"rename", `,"fourth":` + f.entry(), ready("left", "right", "fourth")},
			{"disable", `,"fourth":{"enabled":false,"command":"x"}`, func(p map[string]string) bool { return strings.HasPrefix(p["fourth"], "disabled") }},
			{"remove", "", ready("left", "right")},
			{"a server that fails", `,"bad":{"command":"no-such-program-here"}`, func(p map[string]string) bool { return strings.HasPrefix(p["bad"], "failed") }},
		} {
			if err := f.write(step.others); err != nil {
				return err
			}
			now, err := f.until(step.what, step.want)
			if err != nil {
				return err
			}
			if err := f.truncate(); err != nil {
				return err
			}
			if step.what == "change" {
				if _, err := f.until("the half file to be refused", func(map[string]string) bool {
					return strings.Contains(f.process.Stderr(), "config not reloaded")
				}); err != nil {
					return err
				}
			}
			if after, err := f.pids(); err != nil || len(after) != len(now) {
				return fmt.Errorf("half a file was applied after %s: %v %v", step.what, after, err)
			}
		}
	}
	if err := f.write(""); err != nil {
		return err
	}
	_, err := f.until("the end", ready("left", "right"))
	return err
}

// fault/F16
func TestReloadUnderLoad(t *testing.T) {
	t.Run("fault/T17", func(t *testing.T) {
		dir := t.TempDir()
		f := &farm{t: t, path: filepath.Join(dir, "mcp.json"), bin: mcptest.Build(t)}
		must.OK(t, f.write(""))
		gateway := mcptest.Start(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "--watch", "-c", f.path},
			Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
		})
		f.process, f.url = gateway, gateway.Listening()
		first, err := f.until("the start", ready("left", "right"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- f.edits() }()
		calls := 0
		for running := true; running; {
			out := mcptest.Load{URL: f.url + "/mcp", Clients: 8, Calls: 50, Tools: []string{"left__echo", "right__echo"}}.Run(t)
			calls += out.OK
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
		last, err := f.pids()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"left", "right"} {
			if first[name] != last[name] {
				t.Errorf("%s was %s and is %s", name, first[name], last[name])
			}
		}
		t.Logf("%d calls", calls)
	})
	t.Run("a signal", func(t *testing.T) {
		dir := t.TempDir()
		f := &farm{t: t, path: filepath.Join(dir, "mcp.json"), bin: mcptest.Build(t)}
		must.OK(t, f.write(""))
		gateway := mcptest.Start(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"http", "-p", "0", "-c", f.path},
			Env: []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="},
		})
		f.url = gateway.Listening()
		if _, err := f.until("the start", ready("left", "right")); err != nil {
			t.Fatal(err)
		}
		must.OK(t, f.write(`,"third":`+f.entry()))
		if pids, err := f.pids(); err != nil || len(pids) != 2 {
			t.Errorf("the file is watched without being asked: %v %v", pids, err)
		}
		gateway.Signal(syscall.SIGHUP)
		if _, err := f.until("SIGHUP", ready("left", "right", "third")); err != nil {
			t.Error(err)
		}
	})
}
