package daemon

import (
	"net/http"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
)

// refuse answers a client that may not enter. On the MCP paths the answer is a
// JSON-RPC error, which clients can show. The challenge is always in the
// header.
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

// missing returns the error for a schema or server that does not exist, or that
// the client may not see; nil if it exists. It skips POST requests, which check
// this themselves. Other methods must get this error before errors about their
// headers.
func (rt *router) missing(r *http.Request, ep mcphttp.Endpoint) *jsonrpc.Error {
	if r.Method == http.MethodPost || r.Method == http.MethodOptions {
		return nil
	}
	who, view := access.From(r.Context()), rt.in.Set.Snapshot().Schema(ep.Schema)
	switch {
	case view == nil, !who.MaySee(ep.Schema, "", ""):
		return notFound(rt.in, ep, &refusal.NotFoundError{Kind: "Schema", Name: ep.Schema})
	case ep.Server != "" && (view.Upstream(ep.Server) == nil || !who.MaySee(ep.Schema, ep.Server, "")):
		return notFound(rt.in, ep, &refusal.NotFoundError{Kind: "Server", Name: ep.Server})
	}
	return nil
}

// notFound returns the error for the missing schema or server. If the path
// names only a server, the error names that server, even if the client may not
// see the default schema.
func notFound(in *instance.Instance, ep mcphttp.Endpoint, missing *refusal.NotFoundError) *jsonrpc.Error {
	if ep.Server != "" && ep.Schema == defaultSchema(in) && missing.Name != ep.Server {
		missing = &refusal.NotFoundError{Kind: "Server", Name: ep.Server, Known: []string{}}
	}
	e := jsonrpc.Errorf(http.StatusNotFound, "%s '%s' not found or disabled", missing.Kind, missing.Name)
	if missing.Known != nil {
		e = e.WithData(map[string]any{"available": missing.Known})
	}
	return e
}

func writeRPCError(w http.ResponseWriter, status int, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failure means that the client has disconnected.
	w.Write(jsonrpc.AppendResponse(nil, nil, &jsonrpc.Response{Err: e}))
}
