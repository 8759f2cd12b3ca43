package mcptest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

func fake(t *testing.T, args ...string) mcptest.Program {
	return mcptest.Program{Path: mcptest.Build(t), Args: args}
}

func TestFakeServerOverStdio(t *testing.T) {
	c := mcptest.StartStdio(t, fake(t, "-role", "example"))
	if got := string(c.Initialize(mcp.V2025_06_18, `{}`).Result); !strings.Contains(got, `"name":"example"`) {
		t.Errorf("initialize: %s", got)
	}
	m := c.Ask(`{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{"name":"no_arguments","arguments":{}}}`)
	if m.Error == nil || m.Error.Message != "Missing required arguments" {
		t.Errorf("arguments that are not wanted: %s", m.Raw)
	}
	if code := c.Finish(10 * time.Second); code != 0 {
		t.Errorf("exit code %d after the end of stdin", code)
	}
}

func TestFakeServerOverHTTP(t *testing.T) {
	p := mcptest.Start(t, fake(t, "-role", "zhipu", "-http", "127.0.0.1:0", "-bearer", "key"))
	c := mcptest.NewRawHTTP(t, p.Listening()+"/mcp")
	if got := c.Post(mcptest.InitializeLine(mcp.V2025_06_18, `{}`)).Status; got != http.StatusUnauthorized {
		t.Errorf("without a token: status %d", got)
	}
	c.Header.Set("Authorization", "Bearer key")
	c.Initialize(mcp.V2025_06_18, `{}`)
	call := `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"MCP","num_results":2}}}`
	if got := c.Post(call).Answer(t); !strings.Contains(got.Raw, "Web search results for 'MCP'") {
		t.Errorf("web_search: %s", got.Raw)
	}
}

func TestHostileModes(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"token":"t"}}}`
	for _, mode := range []string{"banner", "garbage", "partial", "crlf", "stderr-flood", "poison"} {
		t.Run(mode, func(t *testing.T) {
			journal := t.TempDir() + "/journal"
			c := mcptest.StartStdio(t, fake(t, "-role", "hostile", "-mode", mode, "-journal", journal))
			c.Initialize(mcp.V2025_06_18, `{}`)
			if m := c.Ask(call); !strings.Contains(m.Raw, `"text":"t"`) {
				t.Errorf("echo: %s", m.Raw)
			}
			if n := mcptest.Journal(t, journal)["t"]; n != 1 {
				t.Errorf("the journal has the token %d times", n)
			}
		})
	}
	t.Run("exit-start", func(t *testing.T) {
		if code := mcptest.Start(t, fake(t, "-role", "hostile", "-mode", "exit-start")).Wait(10 * time.Second); code != 3 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("exit-discover", func(t *testing.T) {
		c := mcptest.StartStdio(t, fake(t, "-role", "hostile", "-mode", "exit-discover"))
		c.Send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
		if code := c.Wait(10 * time.Second); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("crash", func(t *testing.T) {
		c := mcptest.StartStdio(t, fake(t, "-role", "hostile"))
		c.Send(strings.Replace(call, "echo", "crash", 1))
		if code := c.Wait(10 * time.Second); code != 3 {
			t.Errorf("exit code %d", code)
		}
	})
}

func TestLoadFindsNothingWrong(t *testing.T) {
	p := mcptest.Start(t, fake(t, "-role", "example", "-http", "127.0.0.1:0", "-tools", "1"))
	out := mcptest.Load{URL: p.Listening() + "/mcp", Clients: 4, Calls: 5, Tools: []string{"generated_0000"}}.Run(t)
	// The tool echoes a message, but the load sends a token, so the load must
	// reject every answer.
	if out.OK != 0 || len(out.Wrong) != 20 {
		t.Errorf("the load took a wrong answer for a right one: %+v", out)
	}
	if !strings.Contains(fmt.Sprint(out.Wrong), "client-3-call-4") {
		t.Errorf("the load does not name the call: %q", out.Wrong)
	}
}
