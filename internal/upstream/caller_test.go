package upstream_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// TestCallerStays lets a server begin to ask questions during a request outside any
// session. The request keeps its connection until its end. A Caller that many
// requests share uses another connection for the next request.
func TestCallerStays(t *testing.T) {
	start := func(t *testing.T) (*toy, *world) {
		y := newToy()
		srv := httptest.NewServer(y)
		t.Cleanup(srv.Close)
		w := newWorld(t, worldOptions{}, remote("a", srv.URL))
		w.state("a", upstream.Ready)
		return y, w
	}
	t.Run("a request stays", func(t *testing.T) {
		y, w := start(t)
		c, who := &upstream.Caller{Era: mcp.Modern, Version: mcp.LatestModern}, &heard{}
		one, _, err := w.up("a").Subscribe(t.Context(), c, "toy://one", who)
		if err != nil {
			t.Fatal(err)
		}
		w.asked(y)
		if _, err := one.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, seen := y.greeted(), y.asked(); n != 1 || seen["resources/unsubscribe"] != 1 {
			t.Errorf("%d handshakes, %v", n, seen)
		}
	})
	t.Run("many requests do not", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, fake(t, "a", "-era", "legacy"))
		w.state("a", upstream.Ready)
		c := &upstream.Caller{Era: mcp.Modern, Version: mcp.LatestModern, Shared: true}
		for _, connections := range []int{1, 2} {
			w.echoAs(c, "a")
			if got := w.up("a").Status().Connections; got != connections {
				t.Errorf("%d connections, not %d", got, connections)
			}
			w.call("a", "ask_model", `{"prompt":"?"}`) // the client cannot be asked
		}
	})
}

// asked makes the server ask a client that cannot be asked.
func (w *world) asked(y *toy) {
	w.t.Helper()
	answered := make(chan struct{})
	y.mu.Lock()
	y.bend = func(w http.ResponseWriter, _ *http.Request, method string, _ int) bool {
		switch method {
		case "": // the gateway's response
			close(answered)
		case mcp.MethodToolsCall:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`+"\n\n")
			w.(http.Flusher).Flush()
			<-answered
		}
		return method == "" || method == mcp.MethodToolsCall
	}
	y.mu.Unlock()
	if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamClosed) {
		w.t.Errorf("a call that is not answered: %s", reason)
	}
	y.bendTo(nil)
}
