package decisions

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// TestQuestionEndsWithTheGateway checks that a call that waits for a person does
// not keep the gateway from ending: it is refused, and the server hears nothing.
func TestQuestionEndsWithTheGateway(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *world {
		w := newWorld(t, map[string][]string{keyAnn: nil, keyAdmin: {"admin"}})
		w.start(map[string]any{"limits": map[string]any{"drain": "10m"}, "mcpServers": map[string]any{server: w.entry(server, asking)}})
		return w
	}
	ended := func(w *world) {
		t := w.t
		t.Helper()
		w.http.Signal(syscall.SIGTERM)
		if code := w.http.Wait(patience); code != 0 {
			t.Errorf("the gateway ended with %d", code)
		}
		if n := w.heard(mcp.MethodToolsCall); n > 0 {
			t.Errorf("the server heard %d calls", n)
		}
	}
	waits := func(w *world) {
		w.until("the call waits for a person", func() bool { return len(w.questions(keyAdmin)) == 1 })
	}
	t.Run("door/1 its client has gone", func(t *testing.T) {
		w := start(t)
		s, ok := w.streamable("/mcp", keyAnn, legacy).(*streamable)
		if !ok {
			t.Fatal("no session")
		}
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			params := map[string]any{"name": server + "__" + tool, "arguments": hello.arguments}
			if resp, err := w.send(ctx, http.MethodPost, "/mcp", keyAnn, s.header, request(1, mcp.MethodToolsCall, params, legacy)); err == nil {
				resp.Body.Close()
			}
		}()
		waits(w)
		leave()
		<-gone
		ended(w)
	})
	t.Run("door/1 its client waits", func(t *testing.T) {
		w := start(t)
		try := callTool(w.streamable("/mcp", keyAnn, legacy), server+"__"+tool)
		told := make(chan answer, 1)
		go func() { told <- try(hello) }()
		waits(w)
		ended(w)
		if a := <-told; a.reason != string(mcp.Draining) {
			t.Errorf("the client was told %v", a)
		}
	})
	t.Run("install/removal asked at its client", func(t *testing.T) {
		w := start(t)
		c := mcptest.NewRawHTTP(t, w.http.URL+"/mcp")
		c.Header.Set("Authorization", "Bearer "+w.keys[keyAdmin].secret)
		c.Initialize(mcp.V2025_11_25, `{"elicitation":{}}`)
		params := map[string]any{"name": "mcp-all-in-one-remove-mcp-server", "arguments": map[string]any{"name": server}}
		asks := c.Stream(http.MethodPost, string(request(1, mcp.MethodToolsCall, params, legacy)))
		asks.Message(t, "the question", func(m *mcptest.Message) bool { return m.Method == mcp.MethodElicit })
		ended(w)
		m := asks.Message(t, "the end of the call", func(m *mcptest.Message) bool { return m.Method == "" })
		if m.Error == nil || !strings.Contains(string(m.Error.Data), string(mcp.Draining)) {
			t.Errorf("the client was told %+v", m)
		}
		if !w.has(w.config(), server) {
			t.Error("the server was removed")
		}
	})
}
