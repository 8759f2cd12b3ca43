package cache

import (
	"context"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Lookup is one call of a tool whose result may be kept.
type Lookup struct {
	// Life is how long; zero keeps nothing.
	Life time.Duration
	// Key is that of the call as things are now. A result is kept if it is the same
	// before and after the call: otherwise it is not known what it belongs to. Where
	// there is none the call is made.
	Key func() (key Key, ok bool)
	// Hit is called where no server has to be.
	Hit func()
}

// Do answers a call with the result of the last one like it, or performs it.
func (s *Store) Do(l Lookup, req *jsonrpc.Request, perform func() (*jsonrpc.Response, error)) (*jsonrpc.Response, error) {
	if l.Life == 0 || !isWhole(req.Params) {
		return perform()
	}
	key, ok := l.Key()
	if !ok {
		return perform()
	}
	if result, ok := s.Get(key); ok {
		l.Hit()
		return &jsonrpc.Response{Result: result}, nil
	}
	asked := &attentive{Handler: req.Back}
	if req.Back != nil {
		req.Back = asked
	}
	resp, err := perform()
	if err == nil && isFinal(resp) && !asked.heard.Load() {
		if now, ok := l.Key(); ok && now == key {
			s.Put(key, resp.Result, l.Life)
		}
	}
	return resp, err
}

// isWhole says that a call is all that its arguments are: no task, and not the next
// round of another call.
func isWhole(params []byte) bool {
	for name := range jsonrpc.Members(params) {
		switch name {
		case "name", "arguments", "_meta":
		default:
			return false
		}
	}
	return true
}

// isFinal says that a response is a result that the same call would have again: no
// error, no question, no task that has begun.
func isFinal(resp *jsonrpc.Response) bool {
	if resp.Err != nil || mcp.IsToolError(resp.Result) || jsonrpc.Get(resp.Result, "task") != nil {
		return false
	}
	kind, given := jsonrpc.GetString(resp.Result, "resultType")
	return !given || kind == "complete"
}

// An attentive is the way back of a call, and knows whether the server asked
// something: what a person answered once is not known the next time.
type attentive struct {
	jsonrpc.Handler
	heard atomic.Bool
}

func (a *attentive) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	a.heard.Store(true)
	return a.Handler.Handle(ctx, from, req)
}
