package mcptest

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// A Message is one parsed JSON-RPC message.
type Message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *WireError      `json:"error"`
	// Raw is the message as received.
	Raw string `json:"-"`
}

// A WireError is the error of a message.
type WireError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// ParseMessage parses a message; it fails the test if raw is not a message.
func ParseMessage(t testing.TB, raw string) Message {
	t.Helper()
	m := Message{Raw: raw}
	if err := json.Unmarshal([]byte(raw), &m); err != nil || m.JSONRPC != "2.0" {
		t.Fatalf("not a JSON-RPC message: %.500q", raw)
	}
	return m
}

// RawStdio is a minimal client that sends and reads lines.
type RawStdio struct{ *Process }

// StartStdio runs a program that speaks MCP on its stdin and stdout.
func StartStdio(t testing.TB, p Program) *RawStdio {
	t.Helper()
	return &RawStdio{Start(t, p)}
}

// Send writes one line.
func (r *RawStdio) Send(line string) {
	r.t.Helper()
	if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
		r.t.Fatalf("sending %.200s: %v\n%s", line, err, r.Stderr())
	}
}

// Write writes bytes unchanged.
func (r *RawStdio) Write(data []byte) (int, error) { return r.stdin.Write(data) }

// Expect waits for a message that matches.
func (r *RawStdio) Expect(what string, match func(m *Message) bool) Message {
	r.t.Helper()
	line, err := r.stdout.Find(deadline, func(line string) bool {
		m := Message{Raw: line}
		return json.Unmarshal([]byte(line), &m) == nil && match(&m)
	})
	if err != nil {
		r.t.Fatalf("waiting for %s: %v\nunclaimed: %.2000q\n%s", what, err, r.stdout.Unclaimed(), r.Stderr())
	}
	return ParseMessage(r.t, line)
}

// Answer waits for the answer with an id, given as its JSON bytes.
func (r *RawStdio) Answer(id string) Message {
	r.t.Helper()
	return r.Expect("the answer to "+id, func(m *Message) bool { return m.Method == "" && string(m.ID) == id })
}

// Notification waits for a notification.
func (r *RawStdio) Notification(method string) Message {
	r.t.Helper()
	return r.Expect(method, func(m *Message) bool { return m.Method == method && m.ID == nil })
}

// Request waits for a request of the server.
func (r *RawStdio) Request(method string) Message {
	r.t.Helper()
	return r.Expect("request "+method, func(m *Message) bool { return m.Method == method && m.ID != nil })
}

// Ask sends a request and waits for its answer.
func (r *RawStdio) Ask(line string) Message {
	r.t.Helper()
	request := ParseMessage(r.t, line)
	if request.ID == nil {
		r.t.Fatalf("not a request: %s", line)
	}
	r.Send(line)
	return r.Answer(string(request.ID))
}

// Initialize opens a legacy session with the given client capabilities.
func (r *RawStdio) Initialize(version, capabilities string) Message {
	r.t.Helper()
	m := r.Ask(InitializeLine(version, capabilities))
	if m.Error == nil {
		r.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return m
}

// InitializeLine returns an initialize request with id 0.
func InitializeLine(version, capabilities string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,`+
		`"clientInfo":{"name":"raw","version":"1"}}}`, version, capabilities)
}

// Unclaimed returns the lines that no call has waited for.
func (r *RawStdio) Unclaimed() []string { return r.stdout.Unclaimed() }

// Finish closes the input and returns the program's exit code.
func (r *RawStdio) Finish(limit time.Duration) int {
	r.t.Helper()
	r.CloseStdin()
	return r.Wait(limit)
}
