package modern

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Questions are a legacy server's questions that wait for a modern client. The
// client gets them in a result and answers them in its next request. The zero
// value is empty.
type Questions struct {
	mu    sync.Mutex
	open  map[string]*openQuestion
	count int
}

// An openQuestion waits for an answer.
type openQuestion struct {
	req    *jsonrpc.Request
	answer chan *jsonrpc.Response
}

// Ask keeps a question until the client has answered it. It calls news after
// adding the question.
func (qs *Questions) Ask(ctx context.Context, req *jsonrpc.Request, news func()) (*jsonrpc.Response, error) {
	q := &openQuestion{
		req:    &jsonrpc.Request{Method: req.Method, Params: append([]byte(nil), req.Params...)},
		answer: make(chan *jsonrpc.Response, 1),
	}
	qs.mu.Lock()
	if qs.open == nil {
		qs.open = make(map[string]*openQuestion)
	}
	qs.count++
	key := fmt.Sprintf("in%d", qs.count)
	qs.open[key] = q
	qs.mu.Unlock()
	news()
	select {
	case resp := <-q.answer:
		return resp, nil
	case <-ctx.Done():
		qs.mu.Lock()
		delete(qs.open, key)
		qs.mu.Unlock()
		if errors.Is(context.Cause(ctx), ErrExpired) && req.Method == mcp.MethodElicit {
			return &jsonrpc.Response{Result: []byte(`{"action":"cancel"}`)}, nil
		}
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "the client did not answer")
	}
}

// Inputs returns the open questions in the form of the modern era; nil for none.
func (qs *Questions) Inputs() []byte {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(qs.open) == 0 {
		return nil
	}
	requests := []byte(`{}`)
	for key, q := range qs.open {
		requests = jsonrpc.Set(requests, AsInput(q.req), key)
	}
	return requests
}

// Open returns the number of open questions.
func (qs *Questions) Open() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return len(qs.open)
}

// Give passes on the client's answers and returns the number of open questions.
func (qs *Questions) Give(answers []byte) (left int) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for key, answer := range jsonrpc.Members(jsonrpc.AsObject(answers)) {
		q := qs.open[key]
		if q == nil {
			continue // never asked, or answered already
		}
		delete(qs.open, key)
		q.answer <- &jsonrpc.Response{Result: append([]byte(nil), answer...)}
	}
	return len(qs.open)
}

// AsInput writes a legacy question in the form of the modern era.
func AsInput(req *jsonrpc.Request) []byte {
	params := req.Params
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	params = jsonrpc.Set(params, nil, "_meta")
	params = jsonrpc.Set(params, nil, "elicitationId")
	return fmt.Appendf(nil, `{"method":%s,"params":%s}`, jsonrpc.Quote(req.Method), params)
}

// InputResult returns the result with the questions for the client and the
// handle for its next request.
func InputResult(requests []byte, state string) *jsonrpc.Response {
	return &jsonrpc.Response{Result: fmt.Appendf(nil,
		`{"resultType":"input_required","inputRequests":%s,"requestState":%s}`, requests, jsonrpc.Quote(state))}
}

// Elicitations returns the URL elicitations in an error of 2025-11-25 in the form
// of the modern era; nil for none.
func Elicitations(e *jsonrpc.Error) []byte {
	var requests []byte
	n := 0
	for params := range jsonrpc.Elements(jsonrpc.AsArray(jsonrpc.Get(e.Data, "elicitations"))) {
		n++
		requests = jsonrpc.Set(jsonrpc.AsObject(requests), AsInput(&jsonrpc.Request{Method: mcp.MethodElicit, Params: params}), fmt.Sprintf("in%d", n))
	}
	return requests
}
