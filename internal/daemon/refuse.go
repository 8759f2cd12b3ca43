package daemon

import (
	"net/http"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
)

// refuse answers a client that may not enter. On the paths of MCP that is a JSON-RPC
// error, which clients can show; the challenge is in the header either way.
func (rt *router) refuse(w http.ResponseWriter, path string, refused *access.Refusal) {
	if _, ok := rt.endpoint(path); !ok && !strings.HasSuffix(path, "/sse") && !strings.HasSuffix(path, "/message") {
		refused.Write(w)
		return
	}
	h := w.Header()
	h.Set("WWW-Authenticate", refused.Challenge)
	h.Set("Cache-Control", "no-store")
	writeRPCError(w, refused.Status, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s", refused.Reason))
}

// missing is the answer to a request for a schema or server that is not there,
// or that the client may not know of; nil when it is there. A POST finds out by
// itself, and the others must not be told first what their headers lack.
func (rt *router) missing(r *http.Request, ep mcphttp.Endpoint) *jsonrpc.Error {
	if r.Method == http.MethodPost || r.Method == http.MethodOptions {
		return nil
	}
	view := rt.in.Set.Snapshot().Schema(ep.Schema)
	switch {
	case view == nil, !access.From(r.Context()).MaySee(ep.Schema, ep.Server, ""):
		return jsonrpc.Errorf(http.StatusNotFound, "Schema '%s' not found or disabled", ep.Schema)
	case ep.Server != "" && view.Upstream(ep.Server) == nil:
		return jsonrpc.Errorf(http.StatusNotFound, "Server '%s' not found or disabled", ep.Server)
	}
	return nil
}

func writeRPCError(w http.ResponseWriter, status int, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client is gone when this fails, and there is nobody left to tell.
	w.Write(jsonrpc.AppendResponse(nil, nil, &jsonrpc.Response{Err: e}))
}
