package record

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// A Mock answers like the server of a recording. It implements jsonrpc.Handler.
type Mock struct {
	mu    sync.Mutex
	turns []Turn
	used  []int
}

// NewMock returns a server that answers from a recording.
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

// Handle returns the recorded answer to the same request. A repeated request
// gets the next answer, and finally always the last one. A request that was not
// recorded fails; for a call with other arguments, the error lists the recorded
// ones.
func (m *Mock) Handle(_ context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	version, modern := jsonrpc.GetString(req.Params, "_meta", mcp.MetaVersion)
	params := bareParams(append(json.RawMessage(nil), req.Params...))
	fits := func(t *Turn) bool { return t.Method == req.Method && (modern || !probe.IsInputRequired(t.Result)) }
	t := m.pick(func(t *Turn) bool { return fits(t) && sameJSON(question(t.Params, modern), question(params, modern)) })
	if t == nil && (req.Method == mcp.MethodInitialize || req.Method == mcp.MethodDiscover) {
		t = m.pick(fits) // clients send different client information
	}
	if t == nil {
		t = m.otherHandshake(req, version)
	}
	switch {
	case t == nil && req.Method == mcp.MethodPing:
		return &jsonrpc.Response{Result: []byte(`{}`)}, nil
	case t == nil && m.knows(req.Method):
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "The recording has no answer to this %s%s", req.Method, m.recorded(req.Method, params))
	case t == nil:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", req.Method)
	case t.Err != nil:
		return &jsonrpc.Response{Err: jsonrpc.ParseError(t.Err)}, nil
	}
	return &jsonrpc.Response{Result: inEra(req.Method, t.Result, modern)}, nil
}

// HandleNotification ignores notifications.
func (m *Mock) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// pick returns the least used matching turn, the earliest first.
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

// question returns the params for comparison. Missing arguments equal empty
// ones, and for a client of the legacy era the members of modern rounds are
// ignored.
func question(params json.RawMessage, modern bool) json.RawMessage {
	drop := []string{"inputResponses", "requestState"}
	if modern {
		drop = nil
	}
	if sameJSON(jsonrpc.Get(params, "arguments"), nil) {
		drop = append(drop, "arguments")
	}
	for _, key := range drop {
		if jsonrpc.Get(params, key) != nil {
			params = jsonrpc.Set(slices.Clone(params), nil, key)
		}
	}
	return params
}

// mostNamed is the maximum number of recorded arguments in an error.
const mostNamed = 5

// recorded lists the arguments that were recorded for the same subject.
func (m *Mock) recorded(method string, params json.RawMessage) string {
	name := probe.SubjectOf(params)
	var list []string
	for i := range m.turns {
		t := &m.turns[i]
		if t.Method != method || name == "" || probe.SubjectOf(t.Params) != name {
			continue
		}
		args := string(jsonrpc.Get(t.Params, "arguments"))
		if args = cmp.Or(args, "{}"); !slices.Contains(list, args) {
			list = append(list, args)
		}
	}
	if len(list) == 0 {
		return ""
	}
	more := ""
	if len(list) > mostNamed {
		list, more = list[:mostNamed], ", ..."
	}
	return fmt.Sprintf("; it has %s with %s%s", name, strings.Join(list, ", "), more)
}

func (m *Mock) knows(method string) bool {
	return slices.ContainsFunc(m.turns, func(t Turn) bool { return t.Method == method })
}

func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 {
		a = json.RawMessage(`{}`)
	}
	if len(b) == 0 {
		b = json.RawMessage(`{}`)
	}
	found, err := probe.DiffJSON(a, b, nil)
	return err == nil && len(found) == 0
}
