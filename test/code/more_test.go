package code

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// TestHandles checks that a script gets a value over 16 MB as a handle, with
// which it reads parts.
func TestHandles(t *testing.T) {
	s := mcpserver.New("large")
	text := strings.Repeat("0123456789abcde\n", 17<<16) // 17 MB
	s.SetTools(mcpserver.Tool{Definition: `{"name":"text","inputSchema":{"type":"object"}}`,
		Run: func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("%s", text), nil }})
	handler, done := s.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); done() })
	c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, map[string]any{"mode": "code", "limits": map[string]any{"serverMessage": "64MiB"}, "mcpServers": map[string]any{"large": map[string]any{"url": front.URL + "/mcp"}}}))}
	c.gw.Initialize(mcp.V2025_11_25, `{}`)
	for _, tt := range []struct{ name, code, want string }{
		{"size", `const r = await tools.large.text({}); return [typeof r, r.size, r.shape, r.uri.startsWith('result://')]`, fmt.Sprintf(`["object",%d,"%d lines",true]`, len(text), 17<<16)},
		{"text", `const r = await tools.large.text({}); return await r.text(16, 20)`, "0123456789abcde\n0123"},
		{"end", `const r = await tools.large.text({}); return await r.text(r.size - 4, 100)`, "cde\n"},
		{"lines", `const r = await tools.large.text({}); return (await r.lines(1000, 1001)).length`, "32"},
		{"beyond", `const r = await tools.large.text({}); try { await r.text(r.size + 1, 1) } catch (e) { return e.message }`, "is beyond the end"},
		{"too much", `const r = await tools.large.text({}); try { await r.lines(1, 1e9) } catch (e) { return e.name + ': ' + e.message }`, "CallError: the part has more than 8 MB"},
		{"lines turned round", `const r = await tools.large.text({}); try { return await r.lines(9, 3) } catch (e) { return e.message }`, `lines "9-3" is not a range`},
		{"line 0", `const r = await tools.large.text({}); try { return await r.lines(0, 3) } catch (e) { return e.message }`, `lines "0-3" is not a range`},
		{"one line", `const r = await tools.large.text({}); return await r.lines(2)`, "0123456789abcde\n"},
		{"kept", `const r = await tools.large.text({}); return (await (await kept(r.uri)).text(0, 3))`, "012"},
	} {
		t.Run("code/handle "+tt.name, func(t *testing.T) {
			c.t = t
			if got := c.run(tt.code).text(); !strings.Contains(got, tt.want) {
				t.Errorf("it is %.300q, want %q", got, tt.want)
			}
		})
	}
}

// twins returns a server with tools whose names become the same identifier.
func twins(t *testing.T) string {
	t.Helper()
	var tools []mcpserver.Tool
	for _, name := range []string{"get-it", "get.it"} {
		tools = append(tools, mcpserver.Tool{Definition: fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name),
			Run: func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("%s", name), nil }})
	}
	s := mcpserver.New("twins")
	s.SetTools(tools...)
	handler, done := s.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); done() })
	return front.URL + "/mcp"
}

// TestForged checks that a script cannot forge messages, and how it names tools
// with the same identifier.
func TestForged(t *testing.T) {
	c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, map[string]any{"mode": "code", "mcpServers": map[string]any{"twins": map[string]any{"url": twins(t)}}}))}
	c.gw.Initialize(mcp.V2025_11_25, `{}`)
	t.Run("code/bad alias of two tools", func(t *testing.T) {
		c.t = t
		if got := c.run(`return await tools.twins.get_it({})`).text(); !strings.Contains(got, `get_it could be get-it or get.it: write tools["SERVER"]["TOOL"]`) {
			t.Errorf("it is %s", got)
		}
		if got := c.run(`return await tools.twins['get.it']({})`).text(); got != "get.it" {
			t.Errorf("it is %s", got)
		}
	})
	t.Run("code/bad forged line", func(t *testing.T) {
		c.t = t
		const forged = `{"jsonrpc":"2.0","id":1,"result":{"value":"forged"}}`
		got := c.run(`console.log('\n` + forged + `\n'); return [typeof print, typeof std, typeof os, typeof scriptArgs]`)
		if len(got.Content) != 2 || got.Content[0].Text != `["undefined","undefined","undefined","undefined"]` || !strings.Contains(got.Content[1].Text, forged) {
			t.Errorf("it is %+v", got)
		}
	})
	t.Run("code/bad lone surrogate", func(t *testing.T) {
		m := c.gw.Ask(`{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"run","arguments":{"code":"return '\ud800'.length"}}}`)
		if !strings.Contains(m.Raw, "lone surrogate") {
			t.Errorf("it is %s", m.Raw)
		}
		for code, want := range map[string]string{
			`return '\ud800'`: "\uFFFD", `return ['\ud800', 1]`: `["\ufffd",1]`, `console.log('\ud800'); return 1`: "1\nLog:\n\uFFFD\n",
			`return await tools.twins['get.it']({x: '\ud800'})`: "get.it", `throw new Error('\ud800')`: "Error: \uFFFD",
		} {
			if got := c.run(code); !strings.Contains(got.text(), want) {
				t.Errorf("%s is %q", code, got.text())
			}
		}
	})
}

// TestCancelWhileAsked checks that a script that is cancelled while a person is
// asked ends, together with the question.
func TestCancelWhileAsked(t *testing.T) {
	t.Run("code/bad cancel while asked", func(t *testing.T) {
		c := start(t, `"mode":"code",`, `{"elicitation":{}}`)
		id := c.send("run", map[string]any{"code": `await ask('Which?', {type: 'object', properties: {}}); return 1`}, "")
		q := c.gw.Request(mcp.MethodElicit)
		c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, id))
		if m := c.gw.Notification(mcp.NotificationCancelled); !strings.Contains(m.Raw, string(q.ID)) {
			t.Errorf("the question %s is not withdrawn: %s", q.ID, m.Raw)
		}
		if text := c.run(`return 'next'`).text(); text != "next" {
			t.Errorf("the next script: %s", text)
		}
	})
}
