package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// TestLaneSeesWhatOthersSee has a server begin to ask its clients under one that
// calls it in a lane. Those that cannot be asked have another connection from then
// on, where it shows them less, whether they were there before or not.
func TestLaneSeesWhatOthersSee(t *testing.T) {
	v := newVisitor(t, &parrot{serve: shy, answers: make(chan struct{})})
	say := caller{}.call()
	extra := caller{}.call()
	extra.name("up__extra")
	extra.header.Set("Mcp-Name", "up__extra")
	until(t, "the server is called", func() bool { return strings.HasPrefix(v.post(v.kept, &extra), "200") })
	v.post(v.kept, &extra)
	v.changed()
	if got := v.seen(v.kept, &extra); !strings.HasPrefix(got, "200") {
		t.Fatal(got)
	}
	ask := say
	ask.body = strings.Replace(ask.body, `"plain"`, `"ask"`, 1)
	if got := v.alone(&ask); !strings.HasPrefix(got, "200") {
		t.Fatal(got)
	}
	until(t, "the server has another connection", func() bool {
		v.alone(&say)
		return v.server.greeted.Load() > 1
	})
	v.changed()
	for name, got := range map[string]string{"in a lane": v.seen(v.kept, &extra), "alone": v.alone(&extra)} {
		if !strings.HasPrefix(got, "400") || !strings.Contains(got, "not found") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// changed has whoever comes next look at the servers once more.
func (v *visitor) changed() { v.set.Apply(v.set.Snapshot().Config, nil) }

// shy shows one of its tools only to those that can be asked.
func shy(p *parrot, w http.ResponseWriter, r *http.Request, method string, body []byte) bool {
	id := jsonrpc.Get(body, "id")
	const open, closed = "can-be-asked", "cannot-be-asked"
	switch method {
	case mcp.MethodInitialize:
		w.Header().Set("Mcp-Session-Id", closed)
		if jsonrpc.Get(body, "params", "capabilities", "sampling") != nil {
			w.Header().Set("Mcp-Session-Id", open)
		}
	case mcp.MethodToolsList:
		tools := `{"name":"say","inputSchema":{"type":"object"}}`
		if r.Header.Get("Mcp-Session-Id") == open {
			tools += `,{"name":"extra","inputSchema":{"type":"object"}}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, id, tools)
		return true
	case mcp.MethodToolsCall:
		if way, _ := jsonrpc.GetString(body, "params", "arguments", "way"); way != "ask" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`+"\n\n")
		w.(http.Flusher).Flush()
		<-p.answers
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
		return true
	case "":
		p.answers <- struct{}{}
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	return false
}
