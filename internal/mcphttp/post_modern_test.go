package mcphttp_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func modernCall(id int, tool, word string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"n":%d},%s}}`, id, tool, word, n, modernMeta)
}

func modernRequest(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, modernMeta)
}

func modernHeader(method, name string, more ...string) []string {
	h := []string{"MCP-Protocol-Version", mcp.V2026_07_28, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return append(h, more...)
}

func TestModern(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	wrapped := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	echo := modernCall(1, "echo", "x", 0)
	for _, tc := range []struct {
		name, body   string
		header       []string
		status, code int
	}{
		{"call", echo, modernHeader("tools/call", "echo"), 200, 0},
		{"corpus/H25", echo, modernHeader("tools/call", wrapped("echo")), 200, 0},
		{"corpus/H24", echo, modernHeader("tools/call", "=?base64?!!!?="), 400, -32020},
		{"corpus/H23", echo, modernHeader("tools/call", ""), 400, -32020},
		{"corpus/H22", echo, modernHeader("tools/list", "echo"), 400, -32020},
		{"other name", echo, modernHeader("tools/call", "Echo"), 400, -32020},
		{"non-ASCII name", modernCall(1, "é", "x", 0), modernHeader("tools/call", "é"), 400, -32020},
		{"non-ASCII name wrapped", modernCall(1, "é", "x", 0), modernHeader("tools/call", wrapped("é")), 400, -32602},
		{"name that looks wrapped", modernCall(1, wrapped("echo"), "x", 0), modernHeader("tools/call", wrapped("echo")), 400, -32020},
		{"no Mcp-Method", echo, []string{"MCP-Protocol-Version", mcp.V2026_07_28, "Mcp-Name", "echo"}, 400, -32020},
		{"corpus/H20", echo, []string{"Mcp-Method", "tools/call", "Mcp-Name", "echo"}, 400, -32020},
		{"corpus/M10", echo, modernHeader("tools/call", "echo", "MCP-Protocol-Version", mcp.V2025_11_25), 400, -32020},
		{"corpus/M07", callBody(1, "echo", "x", 0), modernHeader("tools/call", "echo"), 400, -32602},
		{"corpus/M08", strings.Replace(echo, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), modernHeader("tools/call", "echo"), 400, -32602},
		{"capabilities of another type", strings.Replace(echo, `clientCapabilities":{}`, `clientCapabilities":[]`, 1), modernHeader("tools/call", "echo"), 400, -32602},
		{"version of another type", strings.Replace(echo, `"2026-07-28"`, `20260728`, 1), modernHeader("tools/call", "echo"), 400, -32602},
		{"corpus/M09", strings.Replace(echo, "2026-07-28", "2027-01-01", 1), modernHeader("tools/call", "echo", "MCP-Protocol-Version", "2027-01-01"), 400, -32022},
		{"corpus/J41", modernRequest("nope/nope", ""), modernHeader("nope/nope", ""), 404, -32601},
		{"unknown tool", modernCall(1, "nope", "x", 0), modernHeader("tools/call", "nope"), 400, -32602},
		{"corpus/M14", modernRequest("tools/call", `"name":5,`), modernHeader("tools/call", ""), 400, -32602},
		{"internal", modernCall(1, "fail", "x", 0), modernHeader("tools/call", "fail"), 200, -32603},
		{"discover", modernRequest("server/discover", ""), modernHeader("server/discover", ""), 200, 0},
		{"corpus/J57", `{"jsonrpc":"2.0","id":1,"result":{}}`, modernHeader("", ""), 400, -32600},
		{"batch", "[" + echo + "]", modernHeader("tools/call", "echo"), 400, -32600},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, modernHeader("notifications/x", ""), 202, 0},
		{"notification with another Mcp-Method", `{"jsonrpc":"2.0","method":"notifications/x"}`, modernHeader("tools/call", ""), 400, -32020},
		{"escaped version key", strings.Replace(echo, "io.modelcontextprotocol/protocolVersion", `io.modelcontextprotocol\/protocolVersion`, 1), []string{}, 400, -32020},
		{"corpus/H28", echo, modernHeader("tools/call", "echo", "Mcp-Session-Id", "made up"), 200, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := w.post(tc.body, tc.header...)
			if a.status != tc.status || a.code() != tc.code {
				t.Errorf("%d %s; want %d, %d", a.status, a.body, tc.status, tc.code)
			}
			if a.header.Get("Mcp-Session-Id") != "" {
				t.Error("a session id was minted")
			}
		})
	}
	t.Run("GET and DELETE", func(t *testing.T) {
		for _, method := range []string{"GET", "DELETE"} {
			a := w.send(method, w.url, "", "Accept", "text/event-stream", "MCP-Protocol-Version", mcp.V2026_07_28)
			if a.status != 405 || a.header.Get("Allow") == "" {
				t.Errorf("%s: %d %v", method, a.status, a.header)
			}
		}
	})
	t.Run("unsupported version names ours", func(t *testing.T) {
		a := w.post(strings.Replace(echo, "2026-07-28", "2027-01-01", 1), modernHeader("tools/call", "echo", "MCP-Protocol-Version", "2027-01-01")...)
		if !strings.Contains(a.body, `"requested":"2027-01-01"`) || !strings.Contains(a.body, mcp.V2026_07_28) {
			t.Error(a.body)
		}
	})
	t.Run("client is not asked", func(t *testing.T) {
		a := w.post(modernCall(1, "ask", "?", 0), modernHeader("tools/call", "ask", "Accept", both)...)
		if !strings.Contains(a.body, "cannot be asked") {
			t.Error(a.body)
		}
	})
	if o := w.opening(0); o.Transport != mcphttp.TransportModern || o.Client != nil || o.Header.Get("Mcp-Name") != "echo" {
		t.Errorf("opening %+v", o)
	}
}

func TestModernListen(t *testing.T) {
	w := newWorld(t, mcphttp.ServerLimits{})
	l := w.listen(modernRequest("subscriptions/listen", ""), modernHeader("subscriptions/listen", "")...)
	if ev := l.want("acknowledged"); ev.ID != "" {
		t.Errorf("event %+v", ev)
	}
	if l.resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("header %v", l.resp.Header)
	}
	take(t, w.started)
	l.close()
	if err := take(t, w.ended); err == nil || errors.Is(err, mcp.CutShort) {
		t.Errorf("cause %v", err)
	}
}
