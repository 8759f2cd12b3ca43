//go:build unix

package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A gatewayHome is a home directory with a gateway and its config file.
type gatewayHome struct {
	t       *testing.T
	program string
	dir     string
	config  string
	env     []string
}

func newGatewayHome(t *testing.T, config string) *gatewayHome {
	t.Helper()
	dir, err := os.MkdirTemp("", "home") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &gatewayHome{t: t, program: mcptest.BuildProduct(t), dir: dir, config: mcptest.WriteConfig(t, config)}
	h.env = []string{"HOME=" + h.dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"}
	return h
}

func (h *gatewayHome) start() *mcptest.Process {
	h.t.Helper()
	p := mcptest.Start(h.t, mcptest.Program{Path: h.program, Args: []string{"http", "-p", "0", "-c", h.config}, Env: h.env})
	p.Listening()
	return p
}

// run runs a command of the product until it exits.
func (h *gatewayHome) run(extra []string, args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Dir = h.dir
	cmd.Env = append(append(os.Environ(), h.env...), extra...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestSecondGateway checks the message that another gateway serves the same
// file.
func TestSecondGateway(t *testing.T) {
	t.Parallel()
	t.Run("true/15 a second gateway on one file", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		first := h.start()
		if strings.Contains(first.Stderr(), "another gateway") {
			t.Errorf("the first says: %s", first.Stderr())
		}
		second := h.start()
		want := fmt.Sprintf("another gateway serves the same file: %s, pid %d", first.Listening(), first.PID())
		must.Await(t, want, func() bool { return strings.Contains(second.Stderr(), want) })
	})
}

// TestBrowser checks that the message about the opened console is printed only
// if the browser was opened.
func TestBrowser(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	h.start()
	for name, test := range map[string]struct{ script, out, err string }{
		"true/15 no browser": {"#!/bin/sh\nexit 3\n", "open http://", ""},
		"true/15 a browser":  {"#!/bin/sh\nexit 0\n", "", "opened in the browser: http://"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for _, name := range []string{"xdg-open", "open"} {
				must.Program(t, filepath.Join(bin, name), test.script)
			}
			out, errs, code := h.run([]string{"PATH=" + bin}, "ui", "-c", h.config)
			if code != 0 || !strings.Contains(out, test.out) || !strings.Contains(errs, test.err) || (test.err == "") == strings.Contains(errs, "opened") {
				t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
			}
		})
	}
}

// TestKeyScopes checks that an unknown schema is refused, and that unknown
// servers and tools, which may be added later, cause a warning.
func TestKeyScopes(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {"demo": {"command": "PRODUCT", "args": ["demo"]}}, "schemas": {"work": {"mcpServers": {}}}}`)
	must.Write(t, h.config, strings.ReplaceAll(must.Read(t, h.config), "PRODUCT", h.program))
	check := func(t *testing.T, name string, want int, text string, scopes ...string) {
		t.Helper()
		args := []string{"key", "create", name, "-c", h.config}
		for _, s := range scopes {
			args = append(args, "--scope", s)
		}
		_, errs, code := h.run(nil, args...)
		if code != want || !strings.Contains(errs, text) || text == "" && strings.Contains(errs, "warning") {
			t.Errorf("%v: exit code %d, says %q", scopes, code, errs)
		}
	}
	t.Run("true/15 schema", func(t *testing.T) {
		check(t, "a", 2, "no schema matches schema:nope", "schema:nope")
		check(t, "b", 2, "default, work", "schema:wrok")
		check(t, "c", 0, "", "schema:work")
		check(t, "d", 0, "", "schema:w*")
		check(t, "e", 2, "no schema matches schema:x*", "schema:x*")
	})
	t.Run("true/15 server and tool", func(t *testing.T) {
		check(t, "f", 0, "warning: no server matches server:nope now: demo", "server:nope")
		check(t, "g", 0, "warning: no server of the schemas in this key matches server:demo now", "server:demo", "schema:work")
		check(t, "h", 0, "", "server:de*")
		check(t, "i", 0, "warning: no server matches tool:nope/echo now", "tool:nope/echo")
		check(t, "j", 0, "", "tool:demo/echo")
		check(t, "k", 0, "", "tool:nope") // there is no gateway to ask
		h.start()
		if out, errs, _ := h.run(nil, "list", "tools", ".", "-c", h.config); !strings.Contains(out, "echo") { // waits for the server
			t.Fatalf("listed: %s%s", out, errs)
		}
		check(t, "l", 0, "warning: no tool matches tool:nope now", "tool:nope")
		check(t, "m", 0, "", "tool:ech*", "tool:demo/*")
	})
}

// TestMockKnowsItsArguments checks that a mock answers only recorded requests.
func TestMockKnowsItsArguments(t *testing.T) {
	t.Parallel()
	t.Run("true/15 mock", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		h.run(nil, "call", "add", "a=1", "b=2", "--trace", "run.mcpcap", "--", h.program, "demo")
		out, errs, code := h.run(nil, "call", "add", "b=2", "a=1", "--", h.program, "mock", "run.mcpcap")
		if code != 0 || !strings.Contains(out, "3") {
			t.Errorf("recorded: exit code %d, %q %q", code, out, errs)
		}
		out, errs, code = h.run(nil, "call", "add", "a=1", "b=3", "--", h.program, "mock", "run.mcpcap")
		if code == 0 || !strings.Contains(errs, `The recording has no answer to this tools/call; it has add with {"a":1,"b":2}`) {
			t.Errorf("not recorded: exit code %d, %q %q", code, out, errs)
		}
	})
}

// TestDemoIsFound calls the demo server by name if nothing is configured, also
// in a working tree that has its own file.
func TestDemoIsFound(t *testing.T) {
	t.Parallel()
	t.Run("true/15 call demo", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {"mine": {"command": "ls"}}}`)
		for _, tree := range []bool{false, true} {
			if tree {
				must.Write(t, filepath.Join(h.dir, ".mcp.json"), `{"mcpServers": {"x": {"command": "ls"}}}`)
			}
			for _, args := range [][]string{{"call", "demo", "add", "a=1", "b=2"}, {"call", "demo.add", "a=1", "b=2"}} {
				if out, errs, code := h.run(nil, args...); code != 0 || out != "{\"sum\":3}\n" || !strings.Contains(errs, "a demo server runs") {
					t.Errorf("%v with a tree %v: exit code %d, %q %q", args, tree, code, out, errs)
				}
			}
		}
		if _, errs, code := h.run(nil, "call", "demo", "add", "-c", h.config); code != 2 || !strings.Contains(errs, "-- mcp-all-in-one demo") {
			t.Errorf("with servers: exit code %d, %q", code, errs)
		}
	})
}

// TestTesterCommands runs commands of the tester under its name.
func TestTesterCommands(t *testing.T) {
	t.Parallel()
	t.Run("true/15 mcp-tester prompt", func(t *testing.T) {
		h := newGatewayHome(t, `{"mcpServers": {}}`)
		out, errs, code := h.run(nil, "mcp-tester", "prompt", "greeting", "--", h.program, "demo")
		if code != 0 || !strings.Contains(out, "Say hello") {
			t.Errorf("exit code %d, %q %q", code, out, errs)
		}
		out, errs, code = h.run(nil, "mcp-tester", "call", "demo", "add", "a=1", "b=2")
		if code != 0 || !strings.Contains(out, "3") {
			t.Errorf("exit code %d, %q %q", code, out, errs)
		}
		if _, _, code = h.run(nil, "mcp-tester", "prmpt"); code != 2 {
			t.Errorf("an unknown word: exit code %d", code)
		}
	})
}
