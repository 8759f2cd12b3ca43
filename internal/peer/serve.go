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

// handle answers a request of another replica. TLS lets only replicas connect.
func (n *Node) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == surveyPath {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.view(r.Header.Get(headerSession))) // an error means that the caller has disconnected
		return
	}
	if r.URL.Path == streamsPath && r.Header.Get("Upgrade") == streamsProtocol {
		conn, err := takeOver(w, streamsProtocol, n.opt.WriteIdle)
		if err != nil {
			n.opt.Log.Error("taking a connection of a replica over", "err", err)
			return
		}
		n.shared.take(conn)
		return
	}
	if r.URL.Path == wantsPath {
		n.Wanted.serve(w, r)
		return
	}
	if r.URL.Path == spentPath {
		if list, ok := told[[]rate.Spent](w, r); ok {
			n.opt.Spent(list)
		}
		return
	}
	if r.URL.Path == heldPath {
		if held, ok := told[rate.Held](w, r); ok {
			n.opt.Held(held)
		}
		return
	}
	if r.URL.Path == rollPath {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.opt.Describe()) // an error means that the caller has disconnected
		return
	}
	if r.URL.Path == drainPath && r.Method == http.MethodPost {
		n.opt.Drain()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == rebalancePath && r.Method == http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.opt.Rebalance()) // an error means that the caller has disconnected
		return
	}
	server, placed := placedServer(r.URL.EscapedPath())
	who, known := n.who.find(r.Header.Get(headerPrincipal), principalOf)
	switch {
	case !known && !placed || r.Header.Get(headerHop) != "1":
		http.Error(w, "not a request of a replica", http.StatusBadRequest)
		return
	case strings.HasPrefix(r.URL.Path, APIPath): // a read-only request may go to any run of the replica
		w.Header().Set(headerNode, n.self.Node)
	case r.Header.Get(headerBoot) != n.self.Boot:
		notRun(w, notThisRun)
		return
	case placed:
		join(n, w, r, server)
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
	ctx := context.WithValue(access.With(r.Context(), who), hopKey{}, true)
	n.serve(w, r.WithContext(ctx))
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
