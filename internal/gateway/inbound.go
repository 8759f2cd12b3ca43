package gateway

import (
	"context"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// inboundRoots answers roots/list, which the source documents send to a
// server: the configured roots, which are paths of this machine and so for those
// who may read such; else those that this client last told, else none.
func (l *line) inboundRoots() (*jsonrpc.Response, error) {
	if roots := l.gw.config().Roots; len(roots) > 0 && l.opening.Who.MayInspect() {
		return &jsonrpc.Response{Result: marshal(map[string]any{"roots": roots})}, nil
	}
	if known := l.roots.Last(); known != nil {
		return &jsonrpc.Response{Result: known}, nil
	}
	return &jsonrpc.Response{Result: []byte(`{"roots":[]}`)}, nil
}

// answer answers sampling/createMessage and elicitation/create where
// something that can answer is configured.
func (g *Gateway) answer(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := g.answers.Answer(ctx, req.Method, req.Params)
	if resp != nil || err != nil {
		return resp, err
	}
	reason := "no sampling backend and no answers.sampling are configured"
	if req.Method == mcp.MethodElicit {
		reason = "nobody is at the console and no answers.elicitation are configured"
	}
	return nil, jsonrpc.MethodNotFound(req.Method, reason)
}
