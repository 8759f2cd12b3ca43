package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/gateway/visit"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/origin"
	"mcp-all-in-one/internal/sharing"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web"
)

// A router dispatches requests by path. Paths are matched exactly as sent,
// without cleaning and redirects, so that no check can be bypassed with another
// spelling.
type router struct {
	in     *instance.Instance
	joined *web.Handler // answers requests of other replicas for their consoles
	guard  *origin.Guard
	mcp    *mcphttp.Server
	share  *sharing.Server
	// console serves /ui/ and /api/v1/; nil when there is none.
	console http.Handler
}

// openSession opens the session of a new client.
func openSession(ctx context.Context, in *instance.Instance, o *mcphttp.Opening) (mcphttp.Session, error) {
	opening, err := openingFor(ctx, in, o)
	if err != nil {
		return nil, err
	}
	opening.Client, opening.End = o.Client, o.End
	opening.Strict = o.Transport == mcphttp.TransportSSE
	opening.Session = o.Transport == mcphttp.TransportSession || o.Transport == mcphttp.TransportSSE
	if o.Transport == mcphttp.TransportModern {
		opening.Header = o.Header
	}
	s, err := in.Gateway.Open(opening)
	if missing, ok := errors.AsType[*refusal.NotFoundError](err); ok {
		return nil, notFound(in, o.Endpoint, missing)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openingFor returns the Opening of a new client: what its principal sees, or
// what the client sees that it imitates.
func openingFor(ctx context.Context, in *instance.Instance, o *mcphttp.Opening) (gateway.Opening, error) {
	like, control := fromControl(ctx)
	if like != "" {
		opening, ok := in.Gateway.Imitate(like, access.From(ctx))
		if !ok {
			return opening, jsonrpc.Errorf(http.StatusNotFound, "Client '%s' is not connected", like)
		}
		opening.Via = traffic.DoorCLI
		return opening, nil
	}
	opening := gateway.Opening{Who: access.From(ctx), Schema: o.Endpoint.Schema, Server: o.Endpoint.Server}
	if control {
		opening.Via = traffic.DoorCLI
		return opening, nil
	}
	opening.Place = visit.Place{Host: o.Host, Secure: o.Header.Get("X-Forwarded-Proto") == "https"}
	return opening, nil
}

func (rt *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rt.in.Cluster != nil && rt.in.Draining.Load() {
		w.Header().Set("Connection", "close") // so that the next request reaches another replica
	}
	path := r.URL.EscapedPath()
	if rt.probe(w, r, path) || rt.shares(w, r, path) || !rt.guard.Check(w, r) {
		return
	}
	if rt.open(w, r, path) {
		return
	}
	if r = rt.admit(w, r, path); r == nil {
		return
	}
	who := access.From(r.Context()).ID
	if ep, ok := rt.endpoint(path); ok {
		if e := rt.missing(r, ep); e != nil {
			writeRPCError(w, http.StatusNotFound, e)
			return
		}
		rt.mcp.ServeMCP(w, r, ep, who)
		return
	}
	switch path {
	case "/":
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			rt.rest(w, r, path, who) // what speaks MCP to this address has to learn that it is another
			return
		}
		rt.index(w, r)
	case "/status", "/api/status":
		rt.status(w, r)
	case "/metrics":
		rt.metrics(w, r)
	case "/sse":
		rt.mcp.ServeSSE(w, r, mcphttp.Endpoint{Schema: rt.defaultSchema()}, "/message", who)
	case "/message":
		rt.mcp.ServeMessage(w, r, who)
	default:
		if !rt.registry(w, r, path) {
			rt.rest(w, r, path, who)
		}
	}
}

// probe answers health checks of load balancers that send no host, such as
// HAProxy by default. It reports only whether the gateway is up. Requests from
// browsers, which another site might cause, always have a host.
func (rt *router) probe(w http.ResponseWriter, r *http.Request, path string) bool {
	switch {
	case r.Host != "":
		return false
	case path == "/health":
		writeJSON(w, http.StatusOK, map[string]any{"status": rt.in.Health()})
	case path == "/ready":
		rt.ready(w, r)
	default:
		return false
	}
	return true
}

// open serves the paths that need no credential, or that check credentials
// themselves.
func (rt *router) open(w http.ResponseWriter, r *http.Request, path string) bool {
	tokens := rt.in.Access().Tokens
	switch {
	case path == "/health":
		rt.health(w, r)
	case path == "/ready":
		rt.ready(w, r)
	case rt.console != nil && isConsole(path) && rt.in.Access().Forwarded(r) != nil:
		rt.in.Access().Forwarded(r).Write(w)
	case rt.console != nil && path == "/ui":
		http.Redirect(w, r, "/ui/", http.StatusFound)
	case rt.console != nil && path == "/" && strings.Contains(r.Header.Get("Accept"), "text/html"):
		http.Redirect(w, r, "/ui/", http.StatusFound)
	case rt.console != nil && isConsole(path):
		rt.console.ServeHTTP(w, r)
	case tokens != nil && slices.Contains(tokens.MetadataPaths(), path):
		tokens.ServeHTTP(w, r)
	default:
		return false
	}
	return true
}

// isConsole reports whether a path belongs to the console, which has its own
// logins.
func isConsole(path string) bool {
	return strings.HasPrefix(path, "/ui/") || strings.HasPrefix(path, "/api/v1/")
}

// rest serves the paths that contain a name.
func (rt *router) rest(w http.ResponseWriter, r *http.Request, path, who string) {
	if name, ok := between(path, "/api/", "/sse"); ok {
		rt.mcp.ServeSSE(w, r, mcphttp.Endpoint{Schema: name}, "/api/"+name+"/message", who)
		return
	}
	if _, ok := between(path, "/api/", "/message"); ok {
		rt.mcp.ServeMessage(w, r, who)
		return
	}
	writeJSON(w, http.StatusNotFound, map[string]any{
		"error": "Not Found", "message": "there is nothing at this path",
		"availableEndpoints": rt.endpoints(access.From(r.Context())),
	})
}

// endpoint returns the endpoint of an MCP path.
func (rt *router) endpoint(path string) (mcphttp.Endpoint, bool) {
	if path == "/mcp" || path == "/mcp/" {
		return mcphttp.Endpoint{Schema: rt.defaultSchema()}, true
	}
	if server, ok := between(path, "/s/", "/mcp"); ok {
		return mcphttp.Endpoint{Schema: rt.defaultSchema(), Server: server}, true
	}
	rest, ok := between(path, "/api/", "/mcp")
	if !ok {
		schema, server, found := splitServer(path)
		return mcphttp.Endpoint{Schema: schema, Server: server}, found
	}
	return mcphttp.Endpoint{Schema: rest}, true
}

// splitServer reads /api/{schema}/s/{server}/mcp.
func splitServer(path string) (schema, server string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return "", "", false
	}
	rest, ok = strings.CutSuffix(rest, "/mcp")
	if !ok {
		return "", "", false
	}
	schema, server, ok = strings.Cut(rest, "/s/")
	return schema, server, ok && isName(schema) && isName(server)
}

// between returns the one path segment between a prefix and a suffix.
func between(path, prefix, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(rest, suffix)
	return name, ok && isName(name)
}

func isName(s string) bool { return s != "" && !strings.Contains(s, "/") }

func (rt *router) defaultSchema() string { return defaultSchema(rt.in) }

// defaultSchema returns the only schema, or else the one called default.
func defaultSchema(in *instance.Instance) string {
	names := in.Gateway.SchemaNames()
	if len(names) == 1 {
		return names[0]
	}
	return "default"
}

func (rt *router) endpoints(who access.Principal) []string {
	list := []string{"/mcp", "/sse", "/health", "/ready", "/status"}
	for _, name := range rt.in.SchemasOf(who) {
		list = append(list, "/api/"+name+"/mcp")
	}
	list = append(list, "/s/{server}/mcp", "/api/{schema}/s/{server}/mcp", registryPath)
	if rt.console != nil {
		list = append(list, "/ui/", "/api/v1/openapi.json")
	}
	return list
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failure means that the client has disconnected.
	json.NewEncoder(w).Encode(v)
}

func (rt *router) uptime() time.Duration { return time.Since(rt.in.Started) }
