package code

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// TestSavings checks that the receipts of a session, its key and its schema, and the
// log, have what scripts and kept results saved, less what was read again.
func TestSavings(t *testing.T) {
	t.Run("code/savings", func(t *testing.T) {
		gw := mcptest.Gateway(t, settings(t, `"mode":"code","results":{"limit":"4KB"},`), "--no-self-config")
		w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, gw.URL+"/mcp")}
		w.Initialize(mcp.V2025_11_25, `{}`)
		w.ask(mcp.MethodToolsList, map[string]any{})
		w.call("run", map[string]any{"code": `for (let i = 0; i < 3; i++) await tools.demo.echo({message: 'x'.repeat(4000)}); return 1`})
		shown := w.call("exec", map[string]any{"server_name": "demo", "tool_name": "echo", "arguments": map[string]any{"message": large()}})
		uri := resultURI.FindString(shown.text())
		w.call("read", map[string]any{"result": uri, "lines": "1-50"})
		w.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri + "?lines=1-50"})
		type cost struct{ Bytes, Tokens int }
		type receipt struct {
			Scripts, Calls, Cut, Reads      int
			Returned, Inner, Kept, ReadBack cost
			Sessions, Keys                  []receipt
		}
		resp, err := http.Get(gw.URL + "/api/status")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var status struct {
			Schemas map[string]struct{ Receipt receipt }
		}
		if err := json.Unmarshal(raw, &status); err != nil {
			t.Fatal(err)
		}
		schema := status.Schemas["default"].Receipt
		if len(schema.Sessions) != 1 || len(schema.Keys) != 1 {
			t.Fatalf("it is %s", raw)
		}
		for _, r := range []receipt{schema, schema.Sessions[0], schema.Keys[0]} {
			if r.Scripts != 1 || r.Calls != 3 || r.Inner.Tokens < 2500 || r.Returned.Tokens > 50 || r.Cut != 1 || r.Kept.Tokens < 5000 || r.Reads != 2 || r.ReadBack.Tokens < 400 || r.ReadBack.Tokens > 1500 {
				t.Errorf("it is %+v", r)
			}
		}
		w.Do(http.MethodDelete, "")
		gw.Stop()
		for _, want := range []string{"scripts=1", "scriptCalls=3", "innerTokens=", "cut=1", "reads=2", "readBackTokens="} {
			if !strings.Contains(gw.Stderr(), want) {
				t.Errorf("the log has no %s: %s", want, gw.Stderr())
			}
		}
	})
}

// TestAskedTimeDoesNotCount checks that the time in which a person is asked does
// not count towards the limit of a script.
func TestAskedTimeDoesNotCount(t *testing.T) {
	t.Run("code/question takes no time", func(t *testing.T) {
		c := start(t, `"mode":"code",`, `{"elicitation":{}}`)
		id := c.send("run", map[string]any{"timeout_seconds": 1.5, "code": `await ask('Which?', {type: 'object', properties: {}}); return 'in time'`}, "")
		q := c.gw.Request(mcp.MethodElicit)
		c.call("exec", map[string]any{"server_name": "demo", "tool_name": "long_task", "arguments": map[string]any{"seconds": 3}}) // longer than the limit
		c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, q.ID))
		if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != "in time" {
			t.Errorf("it is %s", text)
		}
	})
}

// TestURLErrorInAScript checks that a call that needs a visit to a page first is
// never repeated for a script: the person is asked, and the script decides.
func TestURLErrorInAScript(t *testing.T) {
	var calls atomic.Int64
	s := mcpserver.New("gate")
	s.SetTools(mcpserver.Tool{Definition: `{"name":"enter","inputSchema":{"type":"object"}}`, Run: func(context.Context, *mcpserver.Call) (any, error) {
		calls.Add(1)
		return nil, jsonrpc.Errorf(mcp.CodeElicitURL, "sign in first").WithData(map[string]any{
			"elicitations": []map[string]string{{"mode": "url", "elicitationId": "1", "url": "https://example.com/page", "message": "Sign in"}}})
	}})
	handler, done := s.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); done() })
	config := encode(t, map[string]any{"mode": "code", "mcpServers": map[string]any{"gate": map[string]any{"url": front.URL + "/mcp"}}})
	const code = `try { await tools.gate.enter({}) } catch (e) { return [e.name, e.message] }`
	for _, tt := range []struct{ name, capabilities, action, want string }{
		{"accepted", `{"elicitation":{"form":{},"url":{}}}`, "accept", `["CallError","sign in first: the person was asked to visit a page and agreed; call again once that is done"]`},
		{"declined", `{"elicitation":{"form":{},"url":{}}}`, "decline", `["Declined","the person did not visit the page"]`},
		{"not offered", `{}`, "", `["CallError","sign in first: a person has to visit https://example.com/page first"]`},
	} {
		t.Run("code/question url "+tt.name, func(t *testing.T) {
			calls.Store(0)
			c := &client{t: t, gw: mcptest.GatewayStdio(t, config)}
			c.gw.Initialize(mcp.V2025_11_25, tt.capabilities)
			id := c.send("run", map[string]any{"code": code}, "")
			if tt.action != "" {
				q := c.gw.Request(mcp.MethodElicit)
				c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, q.ID, tt.action))
			}
			if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != tt.want {
				t.Errorf("it is %s", text)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("the tool was called %d times", n)
			}
		})
	}
}
