package decisions

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// largeCall returns a call of a tool in the modern era with large arguments, by a
// client that takes questions.
func largeCall(name string, more map[string]any) (header http.Header, body []byte) {
	params := map[string]any{
		"name": server + "__" + name, "arguments": map[string]any{"text": strings.Repeat("x", 100<<10)},
		"_meta": map[string]any{
			mcp.MetaVersion: mcp.V2026_07_28, mcp.MetaClientInfo: map[string]string{"name": "decisions", "version": "1"},
			mcp.MetaCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
		},
	}
	for k, v := range more {
		params[k] = v
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": mcp.MethodToolsCall, "params": params})
	if err != nil {
		panic(err)
	}
	header = firstHeader.Clone()
	header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	header.Set("Mcp-Method", mcp.MethodToolsCall)
	header.Set("Mcp-Name", server+"__"+name)
	return header, body
}

// large makes a call with large arguments.
func (w *world) large(as, name string, more map[string]any) string {
	header, body := largeCall(name, more)
	_, _, text := w.do(http.MethodPost, "/mcp", as, header, body)
	return string(text)
}

// stateIn returns the handle of a call that waits; empty if it does not.
func stateIn(text string) string {
	state, _ := jsonrpc.GetString([]byte(text), "result", "requestState")
	return state
}

// called counts the calls of a tool that reached the server.
func (w *world) called(name string) (n int) {
	w.t.Helper()
	list, err := readJournal(w.journal())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range list {
		if said, _ := jsonrpc.GetString(h.Params, "name"); h.Method == mcp.MethodToolsCall && said == name {
			n++
		}
	}
	return n
}

// overShare reports whether a call was refused because of the share of its key.
func overShare(text string) bool {
	return strings.Contains(text, `"overloaded"`) && strings.Contains(text, "limits.unfinishedPerKey")
}

// TestShareOfWaitingCalls checks that the large requests of calls that wait for an
// answer of their client count for its key, although no connection is open.
func TestShareOfWaitingCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})},
		"limits":     map[string]any{"unfinishedPerKey": "600KB"},
	})
	var waiting []string // what the client was told
	last := ""
	for range 10 {
		if last = w.large(keyAnn, "ask", nil); !strings.Contains(last, `"input_required"`) {
			break
		}
		waiting = append(waiting, last)
	}
	t.Run("door/14 waiting calls beyond the share of a key", func(t *testing.T) {
		if len(waiting) < 2 || len(waiting) > 5 || !overShare(last) {
			t.Errorf("after %d calls: %.300s", len(waiting), last)
		}
		if n := w.called("ask"); n != len(waiting) {
			t.Errorf("the server heard %d calls, %d wait", n, len(waiting))
		}
	})
	t.Run("door/14 others are not bound by waiting calls", func(t *testing.T) {
		if text := w.large(keyBob, "ask", nil); !strings.Contains(text, `"input_required"`) {
			t.Errorf("%.300s", text)
		}
	})
	t.Run("door/14 a waiting call that is answered", func(t *testing.T) {
		answers := map[string]any{"requestState": stateIn(waiting[0]), "inputResponses": map[string]any{"in1": map[string]any{"action": "decline"}}}
		if text := w.large(keyAnn, "ask", answers); !strings.Contains(text, "decline") {
			t.Errorf("%.300s", text)
		}
		if text := w.large(keyAnn, "ask", nil); !strings.Contains(text, `"input_required"`) {
			t.Errorf("the next call: %.300s", text)
		}
	})
}

// TestShareOfSlowCalls checks that large requests count for their key until they are
// answered.
func TestShareOfSlowCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"mcpServers": map[string]any{server: w.entry(server, map[string]any{envAsks: "1"})},
		"limits":     map[string]any{"unfinishedPerKey": "600KB"},
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan struct{})
	for range 2 {
		go func() {
			defer func() { ended <- struct{}{} }()
			header, body := largeCall("hold", nil)
			if resp, err := w.send(ctx, http.MethodPost, "/mcp", keyAnn, header, body); err == nil {
				resp.Body.Close()
			}
		}()
	}
	w.until("both calls run", func() bool { return w.called("hold") == 2 })
	if text := w.large(keyAnn, "echo", nil); !overShare(text) {
		t.Errorf("door/14 a large call beside two that run: %.300s", text)
	}
	if text := w.large(keyBob, "echo", nil); !strings.Contains(text, ran) {
		t.Errorf("door/14 of another key: %.300s", text)
	}
	cancel()
	<-ended
	<-ended
	w.until("the share is given back", func() bool { return strings.Contains(w.large(keyAnn, "echo", nil), ran) })
}
