package probe

import (
	"context"
	"encoding/json"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Mock answers as the server of a recording did. It implements
// jsonrpc.Handler.
type Mock struct {
	mu    sync.Mutex
	turns []Turn
	used  []int
}

// NewMock makes a server of a recording.
func NewMock(c *Capture) *Mock {
	m := &Mock{}
	for _, t := range c.Turns() {
		if !t.FromServer && (t.Result != nil || t.Err != nil) {
			t.Params = bareParams(t.Params)
			m.turns = append(m.turns, t)
		}
	}
	m.used = make([]int, len(m.turns))
	return m
}

// Handle answers what was recorded for the same request; the same request
// again gets the next answer, and the last one from then on. A call of the
// same tool with other arguments gets the nearest that there is.
func (m *Mock) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	version, modern := jsonrpc.GetString(req.Params, "_meta", mcp.MetaVersion)
	params := bareParams(append(json.RawMessage(nil), req.Params...))
	name := subjectName(params)
	fits := func(t *Turn) bool { return t.Method == req.Method && (modern || !isInputRequired(t.Result)) }
	t := m.pick(func(t *Turn) bool { return fits(t) && sameJSON(t.Params, params) })
	if t == nil && (name != "" || req.Method == mcp.MethodInitialize || req.Method == mcp.MethodDiscover) {
		t = m.pick(func(t *Turn) bool { return fits(t) && subjectName(t.Params) == name })
	}
	if t == nil {
		t = m.otherHandshake(req, version)
	}
	switch {
	case t == nil && req.Method == mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case t == nil && m.knows(req.Method):
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "The recording has no answer to this %s", req.Method)
	case t == nil:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", req.Method)
	case t.Err != nil:
		return &jsonrpc.Response{Err: jsonrpc.ParseError(t.Err)}, nil
	}
	return &jsonrpc.Response{Result: inEra(req.Method, t.Result, modern)}, nil
}

// HandleNotification hears nothing.
func (m *Mock) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// pick chooses the least used of the turns that fit, the earliest first.
func (m *Mock) pick(fits func(*Turn) bool) *Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	best, last := -1, -1
	for i := range m.turns {
		if !fits(&m.turns[i]) {
			continue
		}
		last = i
		if best < 0 && m.used[i] == 0 {
			best = i
		}
	}
	if best < 0 {
		best = last
	}
	if best < 0 {
		return nil
	}
	m.used[best]++
	return &m.turns[best]
}

func (m *Mock) knows(method string) bool {
	for i := range m.turns {
		if m.turns[i].Method == method {
			return true
		}
	}
	return false
}

func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 {
		a = json.RawMessage(`{}`)
	}
	if len(b) == 0 {
		b = json.RawMessage(`{}`)
	}
	found, err := DiffJSON(a, b, nil)
	return err == nil && len(found) == 0
}
