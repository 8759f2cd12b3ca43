package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
)

// ask calls the accepting side and returns its result.
func (c *contract) ask(method, params string) string {
	c.t.Helper()
	resp, err := c.try(c.ctx, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if resp.Err != nil {
		c.t.Fatalf("%s: %v", method, resp.Err)
	}
	return string(resp.Result)
}

func (c *contract) try(ctx context.Context, method, params string) (*jsonrpc.Response, error) {
	req := &jsonrpc.Request{Method: method, Back: side{c, "client"}}
	if params != "" {
		req.Params = []byte(params)
	}
	return c.link.Peer.Call(ctx, req)
}

func (c *contract) same(what, got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: got %.200s, want %.200s", what, got, want)
	}
}

func (c *contract) call() {
	params := `{"b":[1.0,9007199254740993,"é\u0000"],"a":null}`
	c.same("result", c.ask("test/echo", params), params)
}

func (c *contract) errors() {
	resp, err := c.try(c.ctx, "test/fail", `{}`)
	if err != nil || resp.Err == nil {
		c.t.Fatalf("got %v, %v; want an error answer", resp, err)
	}
	if resp.Err.Code != -32042 || resp.Err.Message != "failed on purpose" || string(resp.Err.Data) != `{"answer":42}` {
		c.t.Errorf("got %+v, want the handler's own code, message and data", resp.Err)
	}
	resp, err = c.try(c.ctx, "test/nothing", `{}`)
	if err != nil || resp.Err == nil || resp.Err.Code != jsonrpc.CodeMethodNotFound {
		c.t.Errorf("unknown method: got %+v, %v", resp, err)
	}
}

func (c *contract) absent() {
	c.same("result", c.ask("test/echo", ""), `"absent"`)
}

func (c *contract) big() {
	for _, size := range []int{60 << 10, 1 << 20, 5 << 20} {
		params := `{"text":"` + strings.Repeat("大", size/3) + `"}`
		c.same(fmt.Sprintf("%d bytes", size), c.ask("test/echo", params), params)
	}
}

func (c *contract) question() {
	c.same("answer", c.ask("test/ask", `{"q":1}`), `{"q":1}`)
}

func (c *contract) nested() {
	c.same("answer", c.ask("test/ask back", `{"q":2}`), `{"q":2}`)
}

const manyNotifications = 200

func (c *contract) pushed() {
	c.ask("test/count", fmt.Sprintf(`{"n":%d}`, manyNotifications))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inOrder("what the client heard before the answer", c.heard)
}

func (c *contract) told() {
	for i := range manyNotifications {
		n := &jsonrpc.Notification{Method: "notifications/test", Params: fmt.Appendf(nil, `{"n":%d}`, i)}
		if err := c.link.Peer.Notify(c.ctx, n); err != nil {
			c.t.Fatalf("notification %d: %v", i, err)
		}
	}
	var list []string
	if err := json.Unmarshal([]byte(c.ask("test/told", `{}`)), &list); err != nil {
		c.t.Fatalf("reading what the server was told: %v", err)
	}
	c.inOrder("what the server was told", list)
}

func (c *contract) inOrder(what string, list []string) {
	c.t.Helper()
	if len(list) != manyNotifications {
		c.t.Fatalf("%s: %d notifications, want %d", what, len(list), manyNotifications)
	}
	for i, params := range list {
		if want := fmt.Sprintf(`{"n":%d}`, i); params != want {
			c.t.Fatalf("%s: number %d is %s", what, i, params)
		}
	}
}

// await reads one event, or fails the test at the deadline.
func (c *contract) await(events <-chan string, what, want string) {
	c.t.Helper()
	select {
	case got := <-events:
		c.same(what, got, want)
	case <-c.ctx.Done():
		c.t.Fatalf("%s: nothing happened", what)
	}
}

func (c *contract) cancel() {
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan error, 1)
	go func() {
		_, err := c.try(ctx, "test/wait", `{}`)
		done <- err
	}()
	c.await(c.asked, "who waits", "server")
	cancel()
	c.await(c.gone, "whose wait was cancelled", "server")
	if err := <-done; err == nil {
		c.t.Errorf("a cancelled call returned no error")
	}
	c.same("the next call", c.ask("test/echo", `{"after":1}`), `{"after":1}`)
}

func (c *contract) cancelQuestion() {
	c.same("the call that asked", c.ask("test/give up", `{}`), `{}`)
	c.await(c.gone, "whose wait was cancelled", "client")
}

func (c *contract) concurrent() {
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			method := []string{"test/echo", "test/ask"}[i%2]
			params := fmt.Sprintf(`{"token":"%d-%s"}`, i, strings.Repeat("x", i*37))
			resp, err := c.try(c.ctx, method, params)
			switch {
			case err != nil:
				c.t.Errorf("call %d: %v", i, err)
			case resp.Err != nil:
				c.t.Errorf("call %d: %v", i, resp.Err)
			default:
				c.same(fmt.Sprintf("call %d", i), string(resp.Result), params)
			}
		})
	}
	wg.Wait()
}

func (c *contract) closes() {
	done := make(chan error, 1)
	go func() {
		resp, err := c.try(c.ctx, "test/wait", `{}`)
		if err == nil && resp.Err != nil {
			err = resp.Err
		}
		done <- err
	}()
	c.await(c.asked, "who waits", "server")
	c.link.Close()
	select {
	case err := <-done:
		if err == nil {
			c.t.Errorf("a call that was pending at Close succeeded")
		}
	case <-c.ctx.Done():
		c.t.Fatalf("a call that was pending at Close never ended")
	}
	if _, err := c.try(c.ctx, "test/echo", `{}`); err == nil {
		c.t.Errorf("a call after Close succeeded")
	}
	c.link.Close()
}

// StreamDialer returns a Dialer for any connected pair of streams: a Conn on
// each end, with the rules of MCP.
func StreamDialer(connect func(t *testing.T) (client, server jsonrpc.Stream)) Dialer {
	return func(t *testing.T, client, server jsonrpc.Handler) Link {
		near, far := connect(t)
		accepted := duplex.NewConn(far, duplex.ConnOptions{
			Handler: server, Strict: true, CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		})
		opened := duplex.NewConn(near, duplex.ConnOptions{Handler: client, CancelMethod: mcp.NotificationCancelled})
		t.Cleanup(func() { accepted.Close() })
		return Link{Peer: opened, Close: func() { opened.Close() }}
	}
}
