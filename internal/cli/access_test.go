package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestKeys connects clients with keys, checks what each key may see, and checks
// that the sessions of a revoked key end.
func TestKeys(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), mcptest.BuildProduct(t)
	path := filepath.Join(dir, "mcp.json")
	must.Write(t, path, fmt.Sprintf(`{"access":{"keys":%q},"mcpServers":{"one":{"command":%q,"args":["demo"]},"two":{"command":%q,"args":["demo"]}}}`,
		filepath.Join(dir, "keys.json"), binary, binary))
	env := []string{"HOME=" + dir, "XDG_STATE_HOME=", "XDG_RUNTIME_DIR="}
	command := func(args ...string) string {
		t.Helper()
		return output(t, env, append(args, "-c", path)...)
	}
	all := command("key", "create", "all")
	admin := command("key", "create", "boss", "--scope", "admin")
	bound := command("key", "create", "bound", "--scope", "server:one", "--scope", "tool:echo")
	compact := command("key", "create", "compact", "--scope", "mode:compact")
	gateway := mcptest.Start(t, mcptest.Program{Path: binary, Args: []string{"http", "-p", "0", "-c", path}, Env: env})
	url := gateway.Listening()

	open := func(t *testing.T, key string) *mcptest.RawHTTP {
		t.Helper()
		c := mcptest.NewRawHTTP(t, url+"/mcp")
		c.Header.Set("Authorization", "Bearer "+key)
		if m := c.Initialize("2025-06-18", `{}`); m.Error != nil {
			t.Fatalf("initialize: %+v", m.Error)
		}
		return c
	}
	list := func(t *testing.T, key string) string {
		t.Helper()
		reply, err := open(t, key).Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(reply.Body)
	}
	t.Run("fault/T29", func(t *testing.T) {
		for _, header := range []string{"", "Bearer aio_wrong", "Basic eDp5", "Bearer " + all + "x"} {
			c := mcptest.NewRawHTTP(t, url+"/mcp")
			if header != "" {
				c.Header.Set("Authorization", header)
			}
			reply, err := c.Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if err != nil || reply.Status != http.StatusUnauthorized {
				t.Errorf("%q: %v %d", header, err, reply.Status)
			}
			if m := mcptest.ParseMessage(t, string(reply.Body)); m.Error == nil || reply.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%q: %v %s", header, reply.Header, reply.Body)
			}
		}
	})
	t.Run("everything", func(t *testing.T) {
		got := list(t, all)
		if !strings.Contains(got, "one__echo") || !strings.Contains(got, "two__add") || strings.Contains(got, "mcp-all-in-one-set") {
			t.Errorf("got %.500s", got)
		}
	})
	t.Run("admin", func(t *testing.T) {
		if got := list(t, admin); !strings.Contains(got, "mcp-all-in-one-set-mcp-config") {
			t.Errorf("got %.500s", got)
		}
	})
	t.Run("a mode of its own", func(t *testing.T) {
		if got := list(t, compact); !strings.Contains(got, `"name":"exec"`) || strings.Contains(got, `"name":"one__echo"`) {
			t.Errorf("got %.500s", got)
		}
		if got := list(t, all); strings.Contains(got, `"name":"exec"`) {
			t.Errorf("another key got %.500s", got)
		}
	})
	t.Run("bound", func(t *testing.T) {
		got := list(t, bound)
		if !strings.Contains(got, "one__echo") || strings.Contains(got, "one__add") || strings.Contains(got, "two__") {
			t.Errorf("got %.500s", got)
		}
		reply, err := open(t, bound).Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two__echo","arguments":{"message":"x"}}}`)
		if err != nil || !strings.Contains(string(reply.Body), "not found") {
			t.Errorf("another server's tool: %v %s", err, reply.Body)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		c := open(t, all)
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo","arguments":{"message":"x"}}}`
		for range 3 { // calls with repeated headers take a fast path
			if reply, err := c.Try(t.Context(), http.MethodPost, call); err != nil || reply.Status != http.StatusOK {
				t.Errorf("%v %s", err, reply.Body)
			}
		}
		command("key", "revoke", "all")
		if reply, err := c.Try(t.Context(), http.MethodPost, call); err != nil || reply.Status != http.StatusUnauthorized {
			t.Errorf("a call right after the command: %v %d", err, reply.Status)
		}
		gateway.Says("ending the sessions of a principal")
	})
	t.Run("a gateway that cannot be told", func(t *testing.T) {
		ln, err := net.Listen("unix", filepath.Join(dir, ".local", "state", "mcp-all-in-one", "run", "older.sock"))
		if err != nil {
			t.Fatal(err)
		}
		older := &http.Server{Handler: http.NotFoundHandler()}
		go older.Serve(ln)
		defer older.Close()
		cmd := exec.Command(binary, "key", "revoke", "bound", "-c", path)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "revoked: bound") || !strings.Contains(string(said), "could not be notified") {
			t.Errorf("%v: %s", err, said)
		}
	})
}
