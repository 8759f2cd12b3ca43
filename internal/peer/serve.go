package peer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/traffic"
)

// Server returns the server of the peer port. serve answers requests that another
// replica forwarded, with the principal in their context. joined serves a
// connection to a server here, until it ends.
func (n *Node) Server(sessions *mcphttp.Server, lim mcphttp.ServerLimits, serve func(http.ResponseWriter, *http.Request), joined func(*Join)) *http1.Server {
	n.serve, n.joined, n.local = serve, joined, sessions
	return http1.NewServer(mcphttp.HTTPServer(http.HandlerFunc(n.handle), lim, n.opt.Log))
}

type hopKey struct{}

// handedOver reports whether another replica forwarded the request.
func handedOver(ctx context.Context) bool { return ctx.Value(hopKey{}) != nil }

// handle answers a request of another replica. TLS lets only replicas connect. What
// it does before a request is served is in other functions: the stack of a stream
// stays in memory for days.
func (n *Node) handle(w http.ResponseWriter, r *http.Request) {
	if between(n, w, r) {
		return
	}
	ctx := accept(n, w, r)
	if ctx == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			// The panic closes the connection. Without a flushed header, that would
			// mean that the request was not begun.
			http.NewResponseController(w).Flush()
			panic(v)
		}
	}()
	n.serve(w, r.WithContext(ctx))
}

// between answers what replicas ask each other, and reports whether r is that.
func between(n *Node, w http.ResponseWriter, r *http.Request) bool {
	switch path := r.URL.Path; {
	case path == surveyPath:
		writeJSON(w, n.view(r.Header.Get(headerSession)))
	case path == streamsPath && r.Header.Get("Upgrade") == streamsProtocol:
		conn, err := takeOver(w, streamsProtocol, n.opt.WriteIdle)
		if err != nil {
			n.opt.Log.Error("taking a connection of a replica over", "err", err)
			return true
		}
		n.shared.take(conn)
	case path == wantsPath:
		n.Wanted.serve(w, r)
	case path == spentPath:
		if list, ok := told[[]rate.Spent](w, r); ok {
			n.opt.Spent(list)
		}
	case path == heldPath:
		if held, ok := told[rate.Held](w, r); ok {
			n.opt.Held(held)
		}
	case path == keptPath && r.Method == http.MethodPost:
		serveKept(n, w, r)
	case path == backPath:
		serveBack(n, w, r)
	case path == rollPath:
		writeJSON(w, n.opt.Describe())
	case path == drainPath && r.Method == http.MethodPost:
		if err := n.opt.Drain(); err != nil {
			n.opt.Log.Warn("this replica does not drain", "err", err)
			w.WriteHeader(http.StatusConflict)
			return true
		}
		w.WriteHeader(http.StatusNoContent)
	case path == rebalancePath && r.Method == http.MethodPost:
		writeJSON(w, n.opt.Rebalance())
	default:
		return false
	}
	return true
}

// writeJSON answers with v. An error means that the caller has disconnected.
func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// accept returns the context of a request that another replica forwarded, with its
// principal. It is nil if the request is answered here.
func accept(n *Node, w http.ResponseWriter, r *http.Request) context.Context {
	server, placed := placedServer(r.URL.EscapedPath())
	who, known := n.who.find(r.Header.Get(headerPrincipal), principalOf)
	switch {
	case !known && !placed || r.Header.Get(headerHop) != "1":
		http.Error(w, "not a request of a replica", http.StatusBadRequest)
		return nil
	case strings.HasPrefix(r.URL.Path, APIPath): // it is for any run of the replica
		w.Header().Set(headerNode, n.self.Node)
	case r.Header.Get(headerBoot) != n.self.Boot:
		notRun(w, notThisRun)
		return nil
	case placed:
		join(n, w, r, server)
		return nil
	}
	ctx := context.WithValue(access.With(r.Context(), who), hopKey{}, true)
	return traffic.WithFrom(ctx, r.Header.Get(headerNode))
}

// notRun answers that a request was not begun.
func notRun(w http.ResponseWriter, why string) {
	w.Header().Set(headerNotRun, why)
	w.WriteHeader(http.StatusMisdirectedRequest)
}

// principalOf decodes the result of principalText.
func principalOf(text string) (p access.Principal, ok bool) {
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	return p, err == nil && p.ID != ""
}
