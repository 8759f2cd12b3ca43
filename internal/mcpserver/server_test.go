package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// A client is the client of a server under test.
type client struct {
	t    *testing.T
	conn *duplex.Conn
	meta string // sent in every request, if set

	mu      sync.Mutex
	heard   []string
	answers map[string]string
}

func connect(t *testing.T, server *mcpserver.Server) *client {
	near, far := duplex.Pipe()
	c := &client{t: t, answers: map[string]string{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(t.Context(), far); err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	c.conn = duplex.NewConn(near, duplex.ConnOptions{Handler: c, CancelMethod: mcp.NotificationCancelled})
	t.Cleanup(func() {
		c.conn.Close()
		serving.Wait()
	})
	return c
}

func (c *client) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	answer, ok := c.answers[req.Method]
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "not offered")
	}
	return &jsonrpc.Response{Result: []byte(answer)}, nil
}

func (c *client) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, n.Method+" "+string(n.Params))
}

func (c *client) notifications() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.heard...)
}

func (c *client) try(method, params string) (string, *jsonrpc.Error) {
	c.t.Helper()
	if c.meta != "" {
		params = strings.Replace(params, "{", `{"_meta":`+c.meta+`,`, 1)
		params = strings.Replace(params, `,}`, `}`, 1)
	}
	resp, err := c.conn.Call(c.t.Context(), &jsonrpc.Request{Method: method, Params: []byte(params)})
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return string(resp.Result), resp.Err
}

func (c *client) ask(method, params string) string {
	c.t.Helper()
	result, err := c.try(method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func (c *client) initialize(version, offer string) {
	c.t.Helper()
	got := c.ask("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, version, offer))
	if !strings.Contains(got, fmt.Sprintf(`"protocolVersion":%q`, version)) {
		c.t.Fatalf("initialize: %s", got)
	}
}

func modernMeta(offer string) string {
	return fmt.Sprintf(`{%q:%q,%q:%s,"progressToken":"p"}`, mcp.MetaVersion, mcp.V2026_07_28, mcp.MetaCapabilities, offer)
}

func text(t *testing.T, result string) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("no text in %s", result)
	}
	return r.Content[0].Text
}

func TestLegacyVersions(t *testing.T) {
	for _, version := range mcpserver.LegacyVersions {
		t.Run(version, func(t *testing.T) {
			c := connect(t, mcpserver.Demo())
			c.initialize(version, `{"elicitation":{},"roots":{},"sampling":{}}`)
			c.answers[mcp.MethodElicit] = `{"action":"accept","content":{"name":"Ada"}}`
			c.answers[mcp.MethodRootsList] = `{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`
			c.answers[mcp.MethodSampling] = `{"role":"assistant","model":"m","content":{"type":"text","text":"42"}}`
			for tool, want := range map[string]string{
				`"echo","arguments":{"message":"<hi>"}`:  "<hi>",
				`"ask_name"`:                             "Hello, Ada!",
				`"show_roots"`:                           "2 roots\nfile:///a\nfile:///b",
				`"ask_model","arguments":{"prompt":"?"}`: "m says: 42",
				`"add","arguments":{"a":1,"b":2}`:        `{"sum":3}`,
				`"get_current_time","arguments":{"timezone":"No/Such place"}`: `unknown timezone "No/Such place"`,
			} {
				if got := text(t, c.ask("tools/call", `{"name":`+tool+`}`)); got != want {
					t.Errorf("%s: got %q, want %q", tool, got, want)
				}
			}
			if _, err := c.try("initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`); err == nil {
				t.Errorf("a second initialize was answered")
			}
		})
	}
}

func TestNotOfferedIsNotAsked(t *testing.T) {
	c := connect(t, mcpserver.Demo())
	c.initialize(mcp.V2025_11_25, `{}`)
	if got := text(t, c.ask("tools/call", `{"name":"ask_name"}`)); got != "no answer: the client does not offer elicitation" {
		t.Errorf("got %q", got)
	}
	c = connect(t, mcpserver.Demo())
	c.meta = modernMeta(`{}`)
	if _, err := c.try("tools/call", `{"name":"ask_name"}`); err == nil || err.Code != mcp.CodeCapabilityMissing {
		t.Errorf("modern: got %v, want code %d", err, mcp.CodeCapabilityMissing)
	}
}

func TestPages(t *testing.T) {
	server := mcptest.ExampleServer(25, 10)
	server.PageSize = 10
	c := connect(t, server)
	c.initialize(mcp.V2025_06_18, `{}`)
	var sizes []int
	cursor := `{}`
	for cursor != "" {
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		must.Parse(t, c.ask("tools/list", cursor), &page)
		sizes = append(sizes, len(page.Tools))
		cursor = ""
		if page.NextCursor != "" {
			cursor = fmt.Sprintf(`{"cursor":%q}`, page.NextCursor)
		}
	}
	if diff := cmp.Diff([]int{10, 10, 6}, sizes); diff != "" {
		t.Errorf("page sizes: %s", diff)
	}
	if _, err := c.try("tools/list", `{"cursor":"?"}`); err == nil || err.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("a bad cursor: got %v", err)
	}
}

func TestModernEra(t *testing.T) {
	server := mcpserver.Demo()
	server.Versions = mcpserver.ModernVersions
	c := connect(t, server)
	if _, err := c.try("initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`); err == nil || err.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("initialize: got %v", err)
	}
	c.meta = modernMeta(`{"elicitation":{}}`)
	got := c.ask("server/discover", `{}`)
	must.Contain(t, got, `"supportedVersions":["2026-07-28"]`, `"resultType":"complete"`, `"ttlMs":`, `"name":"demo"`)
	var round struct {
		ResultType, RequestState string
		InputRequests            map[string]struct{ Method string }
	}
	must.Parse(t, c.ask("tools/call", `{"name":"ask_name"}`), &round)
	if round.ResultType != "input_required" || round.InputRequests["user_name"].Method != mcp.MethodElicit {
		t.Fatalf("first round: %+v", round)
	}
	retry := `{"name":"ask_name","inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}},"requestState":%q}`
	if got := text(t, c.ask("tools/call", fmt.Sprintf(retry, round.RequestState))); got != "Hello, Ada!" {
		t.Errorf("second round: %q", got)
	}
	if _, err := c.try("tools/call", fmt.Sprintf(retry, round.RequestState+"x")); err == nil || err.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("a state that was tampered with: got %v", err)
	}
	c.meta = strings.Replace(c.meta, mcp.V2026_07_28, "2030-01-01", 1)
	if _, err := c.try("tools/list", `{}`); err == nil || err.Code != mcp.CodeVersionUnsupported {
		t.Errorf("a version of the future: got %v", err)
	}
}

func TestClockTicksForSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, mcpserver.Demo())
		c.initialize(mcp.V2025_11_25, `{}`)
		c.ask("resources/subscribe", `{"uri":"demo://clock"}`)
		<-time.After(3500 * time.Millisecond) // in the time of the bubble
		c.ask("resources/unsubscribe", `{"uri":"demo://clock"}`)
		<-time.After(3500 * time.Millisecond)
		updated := `notifications/resources/updated {"uri":"demo://clock"}`
		if diff := cmp.Diff([]string{updated, updated, updated}, c.notifications()); diff != "" {
			t.Error(diff)
		}
		c.conn.Close()
	})
}

func TestLongTaskReportsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, mcpserver.Demo())
		c.initialize(mcp.V2025_11_25, `{}`)
		got := c.ask("tools/call", `{"name":"long_task","arguments":{"seconds":2,"steps":2},"_meta":{"progressToken":7}}`)
		if text(t, got) != "done after 2 steps" || len(c.notifications()) != 2 || !strings.Contains(c.notifications()[1], `"progressToken":7`) {
			t.Errorf("got %s with %q", got, c.notifications())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		req := &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"long_task","arguments":{"seconds":3600,"steps":1}}`)}
		if _, err := c.conn.Call(ctx, req); err == nil {
			t.Errorf("a cancelled task was answered")
		}
		c.conn.Close()
		synctest.Wait() // the bubble does not end while the task waits
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the task ran for %v", took)
		}
	})
}
