package mcptest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// RawHTTP is a minimal client that posts bodies and reads the answers. Header
// is sent with every request; it may be changed between requests.
type RawHTTP struct {
	URL    string
	Header http.Header

	t    testing.TB
	http http.Client
}

// NewRawHTTP returns a client of one MCP URL, with the headers that MCP
// requires.
func NewRawHTTP(t testing.TB, url string) *RawHTTP {
	c := &RawHTTP{URL: url, t: t, Header: http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, text/event-stream"},
	}}
	c.http.Transport = &http.Transport{MaxIdleConnsPerHost: 256}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// A Reply is the whole answer to one HTTP request.
type Reply struct {
	Status int
	Header http.Header
	Body   string
	// Messages are the JSON-RPC messages of an event stream, or the message of
	// a JSON body.
	Messages []Message
}

// Answer returns the last message with an id and without a method: the answer
// to the request.
func (r *Reply) Answer(t testing.TB) Message {
	t.Helper()
	for _, m := range slices.Backward(r.Messages) {
		if m.Method == "" {
			return m
		}
	}
	t.Fatalf("no answer in status %d: %.500s", r.Status, r.Body)
	return Message{}
}

// Post sends a body and reads the whole answer.
func (c *RawHTTP) Post(body string) *Reply {
	c.t.Helper()
	return c.Do(http.MethodPost, body)
}

// Do sends a request and reads the whole answer.
func (c *RawHTTP) Do(method, body string) *Reply {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), deadline)
	defer cancel()
	reply, err := c.Try(ctx, method, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, c.URL, err)
	}
	return reply
}

// Try is Do for a caller that expects failures or runs concurrently.
func (c *RawHTTP) Try(ctx context.Context, method, body string) (*Reply, error) {
	resp, err := c.send(ctx, method, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	reply := &Reply{Status: resp.StatusCode, Header: resp.Header, Body: string(data)}
	switch kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); {
	case kind == "text/event-stream":
		events := NewEvents(strings.NewReader(reply.Body))
		for e := events.Next(); e != nil; e = events.Next() {
			if e.Data != "" {
				reply.Messages = append(reply.Messages, ParseMessage(c.t, e.Data))
			}
		}
	case kind == "application/json" && strings.HasPrefix(strings.TrimSpace(reply.Body), "{") && strings.Contains(reply.Body, `"jsonrpc"`):
		reply.Messages = []Message{ParseMessage(c.t, reply.Body)}
	}
	return reply, nil
}

func (c *RawHTTP) send(ctx context.Context, method, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = c.Header.Clone()
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	return c.http.Do(req)
}

// Initialize opens a legacy session; later requests belong to it.
func (c *RawHTTP) Initialize(version, capabilities string) Message {
	c.t.Helper()
	reply := c.Post(InitializeLine(version, capabilities))
	answer := reply.Answer(c.t)
	if answer.Error != nil {
		return answer
	}
	if id := reply.Header.Get("Mcp-Session-Id"); id != "" {
		c.Header.Set("Mcp-Session-Id", id)
	}
	c.Header.Set("Mcp-Protocol-Version", version)
	c.Post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

// Stream sends a request and returns its open event stream. The stream ends
// with the test or with Close.
func (c *RawHTTP) Stream(method, body string) *Events {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	resp, err := c.send(ctx, method, body)
	if err != nil {
		cancel()
		c.t.Fatalf("%s %s: %v", method, c.URL, err)
	}
	if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		cancel()
		data, _ := io.ReadAll(resp.Body)
		c.t.Fatalf("%s %s: status %d, %q instead of a stream: %.500s", method, c.URL, resp.StatusCode, kind, data)
	}
	e := NewEvents(resp.Body)
	e.Header = resp.Header
	e.close = sync.OnceFunc(func() {
		cancel()
		resp.Body.Close()
	})
	c.t.Cleanup(e.close)
	return e
}

// An Event is one event of a stream.
type Event struct{ Name, ID, Data, Retry string }

// Events reads a text/event-stream.
type Events struct {
	Header http.Header
	lines  *bufio.Reader
	close  func()
}

// NewEvents reads events from r.
func NewEvents(r io.Reader) *Events { return &Events{lines: bufio.NewReader(r)} }

// Close closes the stream.
func (e *Events) Close() { e.close() }

// Next returns the next event, nil at the end of the stream. It skips comments.
func (e *Events) Next() *Event {
	var event Event
	var data []string
	filled := false
	for {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return nil
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			if filled {
				event.Data = strings.Join(data, "\n")
				return &event
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data, filled = append(data, value), true
		case "event":
			event.Name, filled = value, true
		case "id":
			event.ID, filled = value, true
		case "retry":
			event.Retry, filled = value, true
		}
	}
}

// Message reads events until one has a matching message.
func (e *Events) Message(t testing.TB, what string, match func(m *Message) bool) Message {
	t.Helper()
	for event := e.Next(); event != nil; event = e.Next() {
		if event.Data == "" {
			continue
		}
		if m := ParseMessage(t, event.Data); match(&m) {
			return m
		}
	}
	t.Fatalf("the stream ended before %s", what)
	return Message{}
}
