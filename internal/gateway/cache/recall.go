package cache

import (
	"maps"
	"slices"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Lookup is one tool call whose result may be cached.
type Lookup struct {
	// Life is how long the result is cached; zero disables the cache.
	Life time.Duration
	// Key returns the key of the call. The key changes with the server, so a result
	// is cached only if the key is the same before and after the call. If ok is
	// false, the call is made and its result is not cached.
	Key func() (key Key, ok bool)
	// Asked is how many questions the server has asked so far. If it asked one
	// during the call, the result is not cached: a person may answer differently
	// next time.
	Asked func() uint64
	// From returns the servers that the result came from, other than the called one,
	// after the call, with the standing that each had when it was called.
	From func() map[string]Key
	// Standing returns the present standing of a server. A cached result is not used if
	// the standing of one of its servers has changed.
	Standing func(server string) Key
	// Hit is called if there is a cached result, with the servers that From returned. It
	// reports whether the result may be used.
	Hit func(from []string) bool
}

// Do returns the cached result of a call, or performs the call.
func (s *Store) Do(l Lookup, req *jsonrpc.Request, perform func() (*jsonrpc.Response, error)) (*jsonrpc.Response, error) {
	if l.Life == 0 || !isWhole(req.Params) {
		return perform()
	}
	key, ok := l.Key()
	if !ok {
		return perform()
	}
	if result, from, ok := s.Get(key); ok && l.stands(from) && l.Hit(slices.Sorted(maps.Keys(from))) {
		return &jsonrpc.Response{Result: result}, nil
	}
	asked := l.Asked()
	resp, err := perform()
	if err == nil && isFinal(resp) && l.Asked() == asked {
		if now, ok := l.Key(); ok && now == key {
			s.Put(key, resp.Result, l.From(), l.Life)
		}
	}
	return resp, err
}

// stands reports whether the standing of all servers is as it was.
func (l *Lookup) stands(from map[string]Key) bool {
	for server, was := range from {
		if l.Standing(server) != was {
			return false
		}
	}
	return true
}

// isWhole reports whether a call depends on its arguments alone: it asks for no
// task and does not continue another call.
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

// isFinal reports whether the same call would give the response again: it is no
// error, no question and no new task.
func isFinal(resp *jsonrpc.Response) bool {
	if resp.Err != nil || mcp.IsToolError(resp.Result) || jsonrpc.Get(resp.Result, "task") != nil {
		return false
	}
	kind, given := jsonrpc.GetString(resp.Result, "resultType")
	return !given || kind == "complete"
}
