package gateway

import (
	"context"
	"strconv"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// list answers one of the four lists from memory, as one page.
func (s *Session) list(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	s.settle(ctx)
	now := s.look()
	s.announced.CompareAndSwap(nil, now)
	if req.Method == mcp.MethodToolsList {
		s.keep(now)
		s.showed(now)
	}
	return s.unfinished(now.List(req, s.listView))
}

// unfinished marks a list that servers will add to which are still starting: a
// client that lists once knows then that it is early.
func (s *Session) unfinished(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	starting := 0
	for _, u := range s.upstreams() {
		select {
		case <-u.Settled():
		default:
			starting++
		}
	}
	if err == nil && resp.Err == nil && starting > 0 {
		resp.Result = jsonrpc.Set(resp.Result, strconv.AppendInt(nil, int64(starting), 10), "_meta", mcp.MetaStarting)
	}
	return resp, err
}
