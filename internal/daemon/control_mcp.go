package daemon

import (
	"context"
	"net/http"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/mcphttp"
)

// controlMCP lets the user's own programs be clients of this gateway: at
// /mcp/SCHEMA and /mcp/SCHEMA/SERVER as the user, at /as/SESSION like a client
// that is connected. Who can open the socket is the user, so no key is asked
// for.
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

// localUser is whom the control channel vouches for. It sees what clients see:
// the tools that change the configuration are for those who were given them.
func localUser(in *instance.Instance) access.Principal {
	if !in.Access().Required {
		return access.Anonymous // and shares the servers with the others
	}
	who := access.Local
	who.Admin = false
	return who
}

// controlKey marks what came over the control channel, with the session of the
// client that a new one is to be like; empty for none.
type controlKey struct{}

// fromControl says whether a request came over the control channel, and which
// session it imitates.
func fromControl(ctx context.Context) (imitated string, ok bool) {
	imitated, ok = ctx.Value(controlKey{}).(string)
	return imitated, ok
}
