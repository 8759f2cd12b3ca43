//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// A sharedTester is the output of mcp-tester --shared.
type sharedTester struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
	Log string `json:"log"`
}

// share joins the shared tester of a home directory. The test ends it.
func (h *gatewayHome) share(linger string) sharedTester {
	h.t.Helper()
	out, errs, code := h.run(nil, "mcp-tester", "--shared", "--json", "--linger", linger, "-c", h.config)
	var s sharedTester
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 {
		h.t.Errorf("exit code %d, %v: %q %q", code, err, out, errs)
		return s
	}
	h.t.Cleanup(func() { _ = syscall.Kill(s.PID, syscall.SIGKILL) })
	return s
}

// visit logs in and keeps the event stream open until leave is called, as an
// editor window does.
func (s sharedTester) visit(t *testing.T) (leave func()) {
	t.Helper()
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, body string) *http.Response {
		req := must.Request(t, method, "http://"+address.Host+path, body, "Content-Type", "application/json", "X-MCP-AIO", "1")
		resp, err := (&http.Client{Jar: jar}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", path, resp.Status)
		}
		return resp
	}
	ask("POST", "/api/v1/login", `{"code":"`+strings.TrimPrefix(address.Fragment, "code=")+`"}`).Body.Close()
	stream := ask("GET", "/api/v1/events?topics=", "")
	return func() { stream.Body.Close() }
}

// ends waits until the tester has ended.
func (s sharedTester) ends(t *testing.T) {
	t.Helper()
	must.Await(t, fmt.Sprintf("the end of process %d", s.PID), func() bool { return !s.runs() })
}

// runs reports whether the tester still runs. A process that has ended may
// remain until the init process reaps it, which never happens in some
// containers.
func (s sharedTester) runs() bool {
	if syscall.Kill(s.PID, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// TestSharedTester checks that the programs of a user share one tester in the
// background.
func TestSharedTester(t *testing.T) {
	t.Parallel()
	t.Run("get/vscode: several that start at once get one", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		const windows = 6
		var all [windows]sharedTester
		var starting sync.WaitGroup
		for i := range windows {
			starting.Go(func() { all[i] = h.share("1m") })
		}
		starting.Wait()
		for _, s := range all[1:] {
			if s.PID != all[0].PID || s.URL == all[0].URL {
				t.Errorf("joined %+v and %+v", all[0], s)
			}
		}
		for _, path := range []string{filepath.Dir(h.sockets()[0]), h.sockets()[0], all[0].Log} {
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v %v", path, info, err)
			}
		}
		if len(h.sockets()) != 1 {
			t.Errorf("running: %v", h.sockets())
		}
		for range 2 { // with different one-time codes
			defer all[0].visit(t)()
			all[0] = all[1]
		}
	})
	t.Run("get/vscode: it is private", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}, "server": {"host": "0.0.0.0", "insecure": true}, "access": {"key": "a-key-of-twenty-letters"}}`)
		s := h.share("1m")
		address, err := url.Parse(s.URL)
		if err != nil || address.Hostname() != "127.0.0.1" {
			t.Fatalf("at %s, %v", s.URL, err)
		}
		if status, _ := ask(t, "POST", "http://"+address.Host+"/mcp", `{}`, "Authorization", "Bearer a-key-of-twenty-letters"); status != http.StatusUnauthorized {
			t.Errorf("a client gets %d", status)
		}
		if out, _, code := h.run(nil, "ui", "--print", "-c", h.config); code == 0 {
			t.Errorf("a command finds it: %s", out)
		}
	})
	t.Run("get/vscode: it ends after the last one has left", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		s := h.share("300ms")
		first, second := s.visit(t), h.share("300ms").visit(t)
		first()
		if again := h.share("300ms"); again.PID != s.PID {
			t.Errorf("joined %d, then %d, while one is there", s.PID, again.PID)
		}
		second()
		s.ends(t)
		if again := h.share("300ms"); again.PID == s.PID || again.PID == 0 {
			t.Errorf("joined %d after it had ended", again.PID)
		}
	})
	t.Run("get/vscode: after it was killed another one starts", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		s := h.share("1m")
		must.OK(t, syscall.Kill(s.PID, syscall.SIGKILL))
		if again := h.share("1m"); again.PID == s.PID || again.PID == 0 {
			t.Errorf("joined %d after %d was killed", again.PID, s.PID)
		}
	})
	t.Run("get/vscode: what is wrong is said", func(t *testing.T) {
		h := newGatewayHome(t, `{`)
		if out, errs, code := h.run(nil, "mcp-tester", "--shared", "-c", h.config); code != 4 || out != "" || !strings.Contains(errs, "AIO2") {
			t.Errorf("exit code %d, %q %q", code, out, errs)
		}
	})
}

// sockets returns the sockets of the gateways of a home directory.
func (h *gatewayHome) sockets() []string {
	list, err := filepath.Glob(filepath.Join(h.dir, ".local", "state", "mcp-all-in-one", "run", "*.sock"))
	if err != nil || len(list) == 0 {
		h.t.Fatalf("no gateway: %v", err)
	}
	return list
}
