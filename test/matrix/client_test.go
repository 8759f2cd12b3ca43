package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

const patience = 15 * time.Second

// A client speaks one protocol version over one transport, without an SDK.
type client struct {
	t       *testing.T
	version mcp.Version
	stdio   *mcptest.RawStdio // nil over HTTP
	url     string
	session string
	ids     int
}

// offers are the client capabilities.
const offers = `{"roots":{},"sampling":{},"elicitation":{}}`

// newClient returns a client of a gateway, or of a new gateway process on
// stdio.
func newClient(t *testing.T, date, front, url, config string) *client {
	version, _ := mcp.Lookup(date)
	c := &client{t: t, version: version, url: url}
	if front == "stdio" {
		c.stdio = mcptest.GatewayStdio(t, config)
	}
	return c
}

func (c *client) open() {
	c.t.Helper()
	if c.version.Era == mcp.Modern {
		return
	}
	line := mcptest.InitializeLine(c.version.Date, offers)
	var m mcptest.Message
	if c.stdio != nil {
		m = c.stdio.Ask(line)
	} else {
		h := mcptest.NewRawHTTP(c.t, c.url)
		m = h.Initialize(c.version.Date, offers)
		c.session = h.Header.Get("Mcp-Session-Id")
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(m.Result, &result); err != nil || result.ProtocolVersion != c.version.Date {
		c.t.Fatalf("initialize at %s: %s", c.version.Date, m.Raw)
	}
	if c.stdio != nil {
		c.stdio.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
}

// params adds the _meta of every modern request.
func (c *client) params(raw string) string {
	if c.version.Era == mcp.Legacy {
		return raw
	}
	var p map[string]any
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		c.t.Fatal(err)
	}
	meta, _ := p["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaVersion] = c.version.Date
	meta[mcp.MetaCapabilities] = json.RawMessage(offers)
	meta[mcp.MetaClientInfo] = map[string]string{"name": "matrix", "version": "1"}
	p["_meta"] = meta
	out, err := json.Marshal(p)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(out)
}

// A flight is one request and the messages that it causes.
type flight struct {
	c    *client
	id   string
	msgs chan mcptest.Message
	stop func()
}

func (c *client) begin(method, params string) *flight {
	c.t.Helper()
	c.ids++
	f := &flight{c: c, id: fmt.Sprint(c.ids), stop: func() {}}
	params = c.params(params)
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, f.id, method, params)
	if c.stdio != nil {
		c.stdio.Send(line)
		return f
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	f.stop = cancel
	f.msgs = make(chan mcptest.Message, 100)
	go c.post(ctx, method, params, line, f.msgs)
	return f
}

func (c *client) request(ctx context.Context, line string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(line))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.version.Date >= mcp.V2025_06_18 {
		req.Header.Set("MCP-Protocol-Version", c.version.Date)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	return req
}

func (c *client) post(ctx context.Context, method, params, line string, out chan<- mcptest.Message) {
	defer close(out)
	req := c.request(ctx, line)
	if c.version.Era == mcp.Modern {
		req.Header.Set("Mcp-Method", method)
		var p struct{ Name, URI string }
		if json.Unmarshal([]byte(params), &p) == nil && p.Name+p.URI != "" {
			req.Header.Set("Mcp-Name", p.Name+p.URI)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		data, _ := io.ReadAll(resp.Body)
		if len(data) > 0 {
			out <- mcptest.ParseMessage(c.t, string(data))
		}
		return
	}
	events := mcptest.NewEvents(resp.Body)
	for e := events.Next(); e != nil; e = events.Next() {
		if e.Data != "" {
			out <- mcptest.ParseMessage(c.t, e.Data)
		}
	}
}

// next waits for a matching message in the stream of the request.
func (f *flight) next(what string, match func(*mcptest.Message) bool) mcptest.Message {
	f.c.t.Helper()
	if f.c.stdio != nil {
		return f.c.stdio.Expect(what, match)
	}
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-f.msgs:
			if !ok {
				f.c.t.Fatalf("the stream ended before %s", what)
			}
			if match(&m) {
				return m
			}
		case <-timeout:
			f.c.t.Fatalf("no %s in time", what)
		}
	}
}

func (f *flight) answer() mcptest.Message {
	f.c.t.Helper()
	return f.next("the answer to "+f.id, func(m *mcptest.Message) bool { return m.Method == "" && string(m.ID) == f.id })
}

// send posts a notification or a response.
func (c *client) send(line string) {
	c.t.Helper()
	if c.stdio != nil {
		c.stdio.Send(line)
		return
	}
	resp, err := http.DefaultClient.Do(c.request(c.t.Context(), line))
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		c.t.Fatalf("%s: status %d", line, resp.StatusCode)
	}
}

// call makes a call and answers the question during it.
func (c *client) call(tool, arguments, question, reply string) mcptest.Message {
	c.t.Helper()
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments)
	f := c.begin(mcp.MethodToolsCall, params)
	if question == "" {
		return f.answer()
	}
	if c.version.Era == mcp.Legacy {
		q := f.next(question, func(m *mcptest.Message) bool { return m.Method == question })
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, reply))
		return f.answer()
	}
	m := f.answer()
	var required struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]struct{ Method string }
	}
	if err := json.Unmarshal(m.Result, &required); err != nil || required.ResultType != "input_required" {
		c.t.Fatalf("%s did not ask: %s", tool, m.Raw)
	}
	answers := map[string]json.RawMessage{}
	for key, q := range required.InputRequests {
		if q.Method != question {
			c.t.Fatalf("%s asked %s, not %s", tool, q.Method, question)
		}
		answers[key] = json.RawMessage(reply)
	}
	retry := map[string]any{"name": tool, "arguments": json.RawMessage(arguments), "inputResponses": answers}
	if required.RequestState != "" {
		retry["requestState"] = required.RequestState
	}
	raw, err := json.Marshal(retry)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.begin(mcp.MethodToolsCall, string(raw)).answer()
}
