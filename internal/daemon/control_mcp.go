package daemon

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/mcphttp"
)

// controlMCP lets programs of the user be clients of this gateway: at
// /mcp/SCHEMA and /mcp/SCHEMA/SERVER, and at /as/SESSION with the view of a
// connected client. All of them belong to the user. No key is needed, because
// only the user can open the socket.
func controlMCP(in *instance.Instance, mux *http.ServeMux, server *mcphttp.Server) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		ep := mcphttp.Endpoint{Schema: r.PathValue("schema"), Server: r.PathValue("server")}
		ctx := access.With(r.Context(), localUser(in))
		ctx = context.WithValue(ctx, controlKey{}, r.PathValue("session"))
		server.ServeMCP(w, r.WithContext(ctx), ep, localUser(in).ID)
	}
	mux.HandleFunc("/mcp/{schema}", serve)
	mux.HandleFunc("/mcp/{schema}/{server}", serve)
	mux.HandleFunc("/as/{session}", serve)
}

// localUser returns the principal of the control channel. It sees what clients
// see, without the tools that change the configuration: those need an explicit
// grant.
func localUser(in *instance.Instance) access.Principal {
	if !in.Access().Required {
		return access.Anonymous // shares the servers with the other clients
	}
	who := access.Local
	who.Admin = false
	return who
}

// controlKey is the context key of requests from the control channel. Its value
// is the session that a new session imitates; empty for none.
type controlKey struct{}

// fromControl reports whether a request came through the control channel, and
// which session it imitates.
func fromControl(ctx context.Context) (imitated string, ok bool) {
	imitated, ok = ctx.Value(controlKey{}).(string)
	return imitated, ok
}
