package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/corpus"
	"mcp-all-in-one/internal/mcptest/must"
)

type wanted struct {
	Text, Reason, Contains string
	Code                   int64
}

// check compares the response to a call with the corpus.
func (w *wanted) check(t *testing.T, where string, m mcptest.Message) {
	t.Helper()
	var data struct{ Reason string }
	if m.Error != nil {
		_ = json.Unmarshal(m.Error.Data, &data) // no data, no reason
	}
	var result struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(m.Result, &result) // an error has none
	text := ""
	if len(result.Content) > 0 {
		text = result.Content[0].Text
	}
	switch {
	case data.Reason != w.Reason, w.Text != "" && text != w.Text, !strings.Contains(m.Raw, w.Contains):
		t.Errorf("%s: want %+v, got %.300s", where, *w, m.Raw)
	case w.Code != 0 && codeOf(&m) != w.Code, w.Code == 0 && w.Reason == "" && m.Error != nil:
		t.Errorf("%s: want %+v, got %.300s", where, *w, m.Raw)
	}
}

func callLine(id, tool string, arguments json.RawMessage) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

// callBoth makes a call over both transports.
func (r *rig) callBoth(t *testing.T, tool string, arguments json.RawMessage, w *wanted) {
	t.Helper()
	r.echoes++
	line := callLine(fmt.Sprintf(`"call-%d"`, r.echoes), tool, arguments)
	w.check(t, "stdio", r.stdio.Ask(line))
	w.check(t, "http", r.http.Post(line).Answer(t))
}

// TestServersOnStdio runs hostile servers on stdio.
func TestServersOnStdio(t *testing.T) {
	type row struct {
		ID, Case, Mode, Tool string
		Arguments            json.RawMessage
		Hidden               []string
		Want                 wanted
	}
	rows := corpus.Rows[row](t, "../../testdata/corpus/U/stdio.json")
	fake := mcptest.Build(t)
	entries := map[string]any{}
	for _, r := range rows {
		entries["x"+r.Mode] = map[string]any{"command": fake, "args": []string{"-role", "hostile", "-mode", r.Mode}}
	}
	config := must.JSON(t, map[string]any{"mcpServers": entries})
	r := newRig(t, string(config))
	list := r.stdio.Ask(`{"jsonrpc":"2.0","id":"tools","method":"tools/list"}`)
	for order := range orders() {
		for _, row := range shuffled(t, rows, order) {
			t.Run(name(row.ID, row.Case), func(t *testing.T) {
				for _, bad := range row.Hidden {
					quoted, _ := json.Marshal(bad)
					if part := string(quoted[1 : len(quoted)-1]); strings.Contains(list.Raw, part) || strings.Contains(list.Raw, bad) {
						t.Errorf("the list has %s", part)
					}
				}
				server := "x" + row.Mode
				r.callBoth(t, server+"__"+row.Tool, row.Arguments, &row.Want)
				r.alive(t, server+"__echo", "message")
			})
		}
	}
}

// An httpRow is the response of a server over HTTP to a call.
type httpRow struct {
	ID, Case, Type, Body string
	Status, Long         int
	Header               map[string]string
	Want                 wanted
}

// TestServersOverHTTP runs hostile servers over HTTP.
func TestServersOverHTTP(t *testing.T) {
	rows := corpus.Rows[httpRow](t, "../../testdata/corpus/U/http.json")
	toy := httptest.NewServer(toyServer(rows))
	t.Cleanup(toy.Close)
	r := newRig(t, fmt.Sprintf(`{"mcpServers":{"toy":{"type":"http","url":%q}}}`, toy.URL+"/mcp"))
	for order := range orders() {
		for _, i := range shuffled(t, indexes(len(rows)), order) {
			row := &rows[i]
			t.Run(name(row.ID, row.Case), func(t *testing.T) {
				r.callBoth(t, fmt.Sprintf("toy__row_%d", i), json.RawMessage(`{}`), &row.Want)
				r.alive(t, "toy__echo", "message")
			})
		}
	}
}

func indexes(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// toyServer speaks as much legacy MCP as a gateway needs, and answers tool
// row_N with row N.
func toyServer(rows []httpRow) http.Handler {
	var tools []string
	for i := range rows {
		tools = append(tools, fmt.Sprintf(`{"name":"row_%d","inputSchema":{"type":"object"}}`, i))
	}
	tools = append(tools, `{"name":"echo","inputSchema":{"type":"object"}}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ Message string }
			}
		}
		if json.Unmarshal(body, &req) != nil || req.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
		}
		switch {
		case req.Method == mcp.MethodInitialize:
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"toy","version":"1"}}`)
		case req.Method == mcp.MethodToolsList:
			answer(`{"tools":[` + strings.Join(tools, ",") + `]}`)
		case req.Method == mcp.MethodToolsCall && req.Params.Name == "echo":
			answer(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, req.Params.Arguments.Message))
		case req.Method == mcp.MethodToolsCall:
			var i int
			fmt.Sscanf(req.Params.Name, "row_%d", &i)
			rows[i].answer(w, string(req.ID))
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
		}
	})
}

func (row *httpRow) answer(w http.ResponseWriter, id string) {
	header := w.Header()
	header["Content-Type"] = nil
	if row.Type != "" {
		header.Set("Content-Type", row.Type)
	}
	for name, value := range row.Header {
		header.Set(name, value)
	}
	w.WriteHeader(row.Status)
	io.WriteString(w, strings.NewReplacer("{id}", id, "{long}", strings.Repeat("x", row.Long)).Replace(row.Body))
}

// TestFraming writes the lines of the corpus to the product unchanged.
func TestFraming(t *testing.T) {
	ping := func(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) }
	for _, tc := range []struct {
		id, in string
		codes  map[string]int64 // by id; 0 for a result
	}{
		{"S01", ping(1) + "\r\n" + ping(2) + "\r\n", map[string]int64{"1": 0, "2": 0}},
		{"S02", ping(1) + "\r" + ping(2) + "\r\n", map[string]int64{"1": -32700}},
		{"S05", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}\n" + ping(2) + "\n", map[string]int64{"1": -32700, "2": 0}},
		{"S06", "Content-Length: 40\r\n\r\n" + ping(1) + "\n", map[string]int64{"null": -32700, "1": 0}},
		{"S07", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("y", 17<<20) + "\"}}\n" + ping(2) + "\n", map[string]int64{"1": -32600, "2": 0}},
		{"S09", ping(1) + "\n\x00\x00\x00\n" + ping(2) + "\n", map[string]int64{"1": 0, "null": -32700, "2": 0}},
		{"S03", ping(1) + "\n" + ping(2), map[string]int64{"1": 0, "2": 0}},
		{"S04", ping(1) + "\n" + `{"jsonrpc":"2.0","id":2,"met`, map[string]int64{"1": 0}},
	} {
		t.Run("corpus/"+tc.id, func(t *testing.T) {
			p := mcptest.GatewayStdio(t, demoConfig(t))
			if _, err := p.Write([]byte(tc.in)); err != nil {
				t.Fatal(err)
			}
			atEnd := tc.id == "S03" || tc.id == "S04"
			if atEnd {
				p.CloseStdin()
			}
			for id, code := range tc.codes {
				m := p.Expect("an answer to "+id, func(m *mcptest.Message) bool { return string(m.ID) == id || id == "null" && m.ID == nil })
				if codeOf(&m) != code {
					t.Errorf("%s: code %d, want %d: %.200s", id, codeOf(&m), code, m.Raw)
				}
			}
			if !atEnd {
				begun := time.Now()
				if m := p.Ask(callLine(`"echo"`, "demo__echo", json.RawMessage(`{"message":"alive"}`))); m.Error != nil {
					t.Errorf("afterwards: %s after %v", m.Raw, time.Since(begun))
				}
			}
			if code := p.Finish(20 * time.Second); code != 0 {
				t.Errorf("exit code %d\n%s", code, p.Stderr())
			}
		})
	}
}
