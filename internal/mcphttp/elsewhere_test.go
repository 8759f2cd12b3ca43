package mcphttp_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcptest"
)

// ending is a server that begins to stop with the first call and does not run it.
type ending struct {
	*mcphttp.Server
	listens, stopped chan struct{} // closed when a client listens; closed when that ends
	begun            int
	seen             []mcphttp.Away
	arrives          func() // called before the body of a request is read
	closes           bool   // the server is closed while it answers
	refuses          error  // the error that it then returns
	restores         func() // restores a requested session
}

// A lateBody is a request body whose header the server sees before the body
// arrives.
type lateBody struct {
	io.ReadCloser
	arrives func()
}

func (b lateBody) Read(p []byte) (int, error) {
	b.arrives()
	return b.ReadCloser.Read(p)
}

func (*ending) Version() string { return mcp.V2025_06_18 }
func (*ending) Close()          {}

func (*ending) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func (e *ending) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	switch req.Method {
	case mcp.MethodInitialize:
		return result(`{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, mcp.V2025_06_18)
	case mcp.MethodListen:
		close(e.listens)
		<-ctx.Done()
		close(e.stopped)
		return result(`{}`)
	}
	if e.begun++; e.closes {
		go e.Server.Close()
		<-ctx.Done()
		return nil, e.refuses
	}
	if e.begun == 1 {
		go e.Drain(context.WithoutCancel(ctx))
		<-e.stopped
	}
	return nil, mcp.Failure(mcp.Draining, "", "the gateway is shutting down")
}

// elsewhere is another replica, which answers every request.
func (e *ending) elsewhere(w http.ResponseWriter, a *mcphttp.Away) mcphttp.Whereabouts {
	if restore := e.restores; restore != nil {
		e.restores = nil
		restore()
		return mcphttp.Here
	}
	if !a.Read() {
		return mcphttp.Answered
	}
	e.seen = append(e.seen, *a)
	e.seen[len(e.seen)-1].Body = append([]byte(nil), a.Body...)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"from":"another"}}`, cmp.Or(string(a.ID), "null"))
	return mcphttp.Answered
}

// startEnding serves an ending to a client that listens.
func startEnding(t *testing.T) (e *ending, url string) {
	e = &ending{listens: make(chan struct{}), stopped: make(chan struct{})}
	e.Server = mcphttp.NewServer(mcphttp.ServerOptions{
		Open:      func(context.Context, *mcphttp.Opening) (mcphttp.Session, error) { return embedded{e}, nil },
		Elsewhere: e.elsewhere,
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.arrives != nil {
			r.Body = lateBody{r.Body, e.arrives}
		}
		e.ServeMCP(w, r, mcphttp.Endpoint{}, "who")
	}))
	t.Cleanup(func() { e.Server.Close(); front.CloseClientConnections(); front.Close() })
	listener := modernClient(t, front.URL, mcp.MethodListen, "")
	var open sync.WaitGroup
	open.Go(func() { _, _ = listener.Try(t.Context(), http.MethodPost, modernLine(1, mcp.MethodListen)) }) // it ends with the server
	t.Cleanup(open.Wait)
	<-e.listens
	return e, front.URL
}

// embedded is only the Session of an ending.
type embedded struct{ mcphttp.Session }

func modernClient(t *testing.T, url, method, name string) *mcptest.RawHTTP {
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	c.Header.Set("Mcp-Method", method)
	if name != "" {
		c.Header.Set("Mcp-Name", name)
	}
	return c
}

func modernLine(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"echo","_meta":{%q:%q,%q:{}}}}`, id, method, mcp.MetaVersion, mcp.V2026_07_28, mcp.MetaCapabilities)
}

// TestHandedOn checks that a call that a stopping replica did not begin is
// forwarded to another one.
func TestHandedOn(t *testing.T) {
	t.Run("fault/T46 a call that was not begun", func(t *testing.T) {
		e, url := startEnding(t)
		c := mcptest.NewRawHTTP(t, url)
		c.Initialize(mcp.V2025_06_18, `{}`)
		call := callBody(7, "echo", "hello", 0)
		if m := c.Post(call).Answer(t); string(m.Result) != `{"from":"another"}` {
			t.Errorf("answered %s", m.Raw)
		}
		if len(e.seen) != 1 || string(e.seen[0].Body) != call || e.seen[0].Session == "" || e.seen[0].Principal != "who" || string(e.seen[0].ID) != "7" {
			t.Fatalf("handed on: %+v", e.seen)
		}
		if e.Has(e.seen[0].Session) {
			t.Error("the session is still here")
		}
	})
	t.Run("fault/T46 a call that arrives at the very end", func(t *testing.T) {
		e, url := startEnding(t)
		c := mcptest.NewRawHTTP(t, url)
		c.Initialize(mcp.V2025_06_18, `{}`)
		e.arrives = sync.OnceFunc(func() {
			go e.Server.Close()
			<-e.stopped // by then all calls are cancelled
		})
		if m := c.Post(callBody(7, "echo", "hello", 0)).Answer(t); string(m.Result) != `{"from":"another"}` || e.begun > 0 {
			t.Errorf("answered %s, %d begun", m.Raw, e.begun)
		}
	})
	t.Run("fault/T46 a call that is refused when all that runs is ended", func(t *testing.T) {
		refusal := mcp.Failure(mcp.Draining, "", "the gateway is shutting down")
		for _, modern := range []bool{false, true} {
			for _, refused := range []error{refusal, context.Canceled} { // with the second error the call had begun
				e, url := startEnding(t)
				e.closes, e.refuses = true, refused
				c, line := mcptest.NewRawHTTP(t, url), callBody(7, "echo", "hello", 0)
				if modern {
					c, line = modernClient(t, url, mcp.MethodToolsCall, "echo"), modernLine(7, mcp.MethodToolsCall)
				} else {
					c.Initialize(mcp.V2025_06_18, `{}`)
				}
				m := c.Post(line).Answer(t)
				if refused == refusal && string(m.Result) != `{"from":"another"}` {
					t.Errorf("modern %v: refused, answered %s", modern, m.Raw)
				}
				if refused != refusal && (m.Error == nil || len(e.seen) > 0) {
					t.Errorf("modern %v: begun, answered %s", modern, m.Raw)
				}
			}
		}
	})
	t.Run("fault/T46 a session that begins at the very end", func(t *testing.T) {
		for _, closed := range []bool{false, true} {
			e, url := startEnding(t)
			c := mcptest.NewRawHTTP(t, url)
			e.arrives = sync.OnceFunc(func() {
				ended := make(chan struct{})
				go func() { e.Server.Close(); close(ended) }()
				if <-e.stopped; closed {
					<-ended
				}
			})
			if m := c.Post(mcptest.InitializeLine(mcp.V2025_06_18, `{}`)).Answer(t); string(m.Result) != `{"from":"another"}` {
				t.Errorf("closed %v: answered %s", closed, m.Raw)
			}
		}
	})
	t.Run("fault/T46 a batch", func(t *testing.T) {
		e, url := startEnding(t)
		c := mcptest.NewRawHTTP(t, url)
		e.arrives = sync.OnceFunc(func() {
			go e.Drain(t.Context())
			<-e.stopped
		})
		batch := "[" + callBody(7, "echo", "hello", 0) + "," + callBody(8, "echo", "hello", 0) + "]"
		if reply := c.Post(batch); !strings.Contains(reply.Body, "another") || e.begun > 0 || string(e.seen[0].Body) != batch {
			t.Errorf("answered %s, %d begun", reply.Body, e.begun)
		}
	})
	t.Run("fault/T46 a session that is here for a moment", func(t *testing.T) {
		e, url := startEnding(t)
		c := mcptest.NewRawHTTP(t, url)
		c.Header.Set("Mcp-Session-Id", "moved here")
		e.restores = sync.OnceFunc(func() {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			if err := e.Restore(r, "moved here", mcphttp.Start{Transport: mcphttp.TransportSession, Principal: "who", Version: mcp.V2025_06_18, Capabilities: []byte(`{}`), ClientInfo: []byte(`{}`)}); err != nil {
				t.Error(err)
			}
			e.Drain(t.Context())
		})
		if m := c.Post(callBody(7, "echo", "hello", 0)).Answer(t); string(m.Result) != `{"from":"another"}` {
			t.Errorf("answered %s", m.Raw)
		}
	})
	t.Run("fault/T46 a modern call", func(t *testing.T) {
		e, url := startEnding(t)
		c := modernClient(t, url, mcp.MethodToolsCall, "echo")
		for i, when := range []string{"while it begins to end", "while it ends", "when it has ended"} {
			if i == 2 {
				e.Server.Close()
			}
			line := modernLine(i, mcp.MethodToolsCall)
			if m := c.Post(line).Answer(t); string(m.Result) != `{"from":"another"}` || e.begun != 1 {
				t.Errorf("%s answered %s, %d begun", when, m.Raw, e.begun)
			}
			if last := e.seen[len(e.seen)-1]; len(e.seen) != i+1 || string(last.Body) != line || !last.Ends || last.Session != "" {
				t.Errorf("%s handed on: %+v", when, e.seen)
			}
		}
	})
	t.Run("fault/T46 a server that ends itself", func(t *testing.T) {
		e, url := startEnding(t)
		e.begun = 1
		c := mcptest.NewRawHTTP(t, url)
		c.Initialize(mcp.V2025_06_18, `{}`)
		for id := range 2 {
			if m := c.Post(callBody(id, "echo", "hello", 0)).Answer(t); m.Error == nil || len(e.seen) > 0 {
				t.Errorf("answered %s, handed on %+v", m.Raw, e.seen)
			}
		}
	})
}
