package cache

import (
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Lookup is one call of a tool whose result may be kept.
type Lookup struct {
	// Life is how long; zero keeps nothing.
	Life time.Duration
	// Key returns the key of the call. It changes when the server does, so a result
	// is kept only if the key is the same before and after the call. Without a key
	// the call is made, and its result is not kept.
	Key func() (key Key, ok bool)
	// Asked is how many questions the server has asked so far. A result is not kept
	// where it asked one during the call: what a person answered once is not known
	// the next time.
	Asked func() uint64
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
	asked := l.Asked()
	resp, err := perform()
	if err == nil && isFinal(resp) && l.Asked() == asked {
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
