// Package seeds tests the product against the documents that it was made from:
// one file per document, one test per requirement, with the real binary.
package seeds

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// patience is the time limit of every step: the documents' own limit for a test
// case.
const patience = 30 * time.Second

// A wire is a raw client of the product, over either transport.
type wire interface {
	// ask sends a request and waits for its response.
	ask(line string) mcptest.Message
	// tell sends a notification.
	tell(line string)
	// hear waits for a notification.
	hear(method string) mcptest.Message
	// rest returns all messages that were received but not waited for.
	rest() []string
}

// A stdioWire talks to the product's pipes.
type stdioWire struct{ *mcptest.RawStdio }

func (w stdioWire) ask(line string) mcptest.Message    { return w.Ask(line) }
func (w stdioWire) tell(line string)                   { w.Send(line) }
func (w stdioWire) hear(method string) mcptest.Message { return w.Notification(method) }
func (w stdioWire) rest() []string                     { return w.Unclaimed() }

// An httpWire talks to an MCP URL of the product. Its initialize opens a
// session; without one, every request stands alone.
type httpWire struct {
	t   *testing.T
	raw *mcptest.RawHTTP

	mu      sync.Mutex
	arrived *sync.Cond
	heard   []mcptest.Message
}

func newHTTPWire(t *testing.T, url string) *httpWire {
	w := &httpWire{t: t, raw: mcptest.NewRawHTTP(t, url)}
	w.arrived = sync.NewCond(&w.mu)
	return w
}

func (w *httpWire) ask(line string) mcptest.Message {
	w.t.Helper()
	asked := mcptest.ParseMessage(w.t, line)
	reply := w.raw.Post(line)
	for _, m := range reply.Messages {
		if m.Method != "" {
			w.add(m)
		}
	}
	answer := reply.Answer(w.t)
	if asked.Method == "initialize" && answer.Error == nil {
		w.open(reply, answer)
	}
	return answer
}

// open makes the following requests part of the session, and listens to it.
func (w *httpWire) open(reply *mcptest.Reply, answer mcptest.Message) {
	w.t.Helper()
	var result struct{ ProtocolVersion string }
	decode(w.t, answer.Result, &result)
	w.raw.Header.Set("Mcp-Session-Id", reply.Header.Get("Mcp-Session-Id"))
	w.raw.Header.Set("Mcp-Protocol-Version", result.ProtocolVersion)
	stream := w.raw.Stream("GET", "")
	go func() {
		for e := stream.Next(); e != nil; e = stream.Next() {
			var m mcptest.Message
			if e.Data != "" && json.Unmarshal([]byte(e.Data), &m) == nil {
				m.Raw = e.Data
				w.add(m)
			}
		}
	}()
}

func (w *httpWire) add(m mcptest.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, m)
	w.arrived.Broadcast()
}

func (w *httpWire) tell(line string) {
	w.t.Helper()
	if reply := w.raw.Post(line); reply.Status != 202 || reply.Body != "" {
		w.t.Errorf("%s: status %d, %q", line, reply.Status, reply.Body)
	}
}

func (w *httpWire) hear(method string) mcptest.Message {
	w.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		late = true
		w.arrived.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for i, m := range w.heard {
			if m.Method == method {
				w.heard = append(w.heard[:i:i], w.heard[i+1:]...)
				return m
			}
		}
		if late {
			w.t.Fatalf("no %s in %v; heard %v", method, patience, w.heard)
		}
		w.arrived.Wait()
	}
}

func (w *httpWire) rest() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, m := range w.heard {
		list = append(list, m.Raw)
	}
	return list
}

// over runs a test over both transports, each with its own product.
func over(t *testing.T, config string, run func(t *testing.T, w wire), flags ...string) {
	t.Run("stdio", func(t *testing.T) {
		w := mcptest.GatewayStdio(t, config, flags...) // the time to build it does not count
		start := time.Now()
		run(t, stdioWire{w})
		if took := time.Since(start); took > patience {
			t.Errorf("the case took %v", took)
		}
	})
	t.Run("http", func(t *testing.T) {
		p := mcptest.Gateway(t, config, flags...)
		listeners.Store(p.URL, p.PID())
		run(t, newHTTPWire(t, p.URL+"/mcp"))
	})
}

// listeners are the processes of this test run, by their URL.
var listeners sync.Map

func decode(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
}

// sameJSON compares two JSON texts by value.
func sameJSON(t *testing.T, what, got, want string) {
	t.Helper()
	var a, b any
	decode(t, []byte(got), &a)
	decode(t, []byte(want), &b)
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	if string(left) != string(right) {
		t.Errorf("%s:\n got %s\nwant %s", what, left, right)
	}
}

// wantError compares an error literally: code, message and, if given, data.
func wantError(t *testing.T, m mcptest.Message, code int64, message, data string) {
	t.Helper()
	if m.Error == nil || m.Error.Code != code || m.Error.Message != message {
		t.Fatalf("got %s, want error %d %q", m.Raw, code, message)
	}
	if data != "" {
		sameJSON(t, "data", string(m.Error.Data), data)
	}
}

// wantResult compares a result literally.
func wantResult(t *testing.T, m mcptest.Message, result string) {
	t.Helper()
	if m.Error != nil {
		t.Fatalf("got %s", m.Raw)
	}
	sameJSON(t, "result", string(m.Result), result)
}

// textOf returns the text of a tool result with one block.
func textOf(t *testing.T, m mcptest.Message) string {
	t.Helper()
	var result struct {
		Content []struct{ Type, Text string }
	}
	if m.Error != nil {
		t.Fatalf("got %s", m.Raw)
	}
	decode(t, m.Result, &result)
	if len(result.Content) != 1 || result.Content[0].Type != "text" {
		t.Fatalf("not one text block: %s", m.Raw)
	}
	return result.Content[0].Text
}

// initialize is the handshake of document 001.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` +
	`{"tools":{},"resources":{},"prompts":{},"logging":{}},"clientInfo":{"name":"test-client","version":"1.0.0"}}}`

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// shake opens a session in the dialect of the documents.
func shake(t *testing.T, w wire) {
	t.Helper()
	if m := w.ask(initialize); m.Error != nil {
		t.Fatalf("initialize: %s", m.Raw)
	}
	w.tell(initialized)
}

// request returns a request line.
func request(id int, method, params string) string {
	if params == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// call returns a tools/call line.
func call(id int, tool, arguments string) string {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// quoted returns a JSON string.
func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// listed returns the names in the result of a list.
func listed(t *testing.T, m mcptest.Message, kind string) []string {
	t.Helper()
	var result map[string]json.RawMessage
	decode(t, m.Result, &result)
	var items []struct{ Name string }
	decode(t, result[kind], &items)
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.Name
	}
	return names
}

func join(names []string) string { return strings.Join(names, " ") }
