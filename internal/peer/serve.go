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
)

// Server serves the peer port. serve answers requests that another replica
// handed over, with who asks in their context; joined serves a connection to a
// server that is here, until it ends.
func (n *Node) Server(sessions *mcphttp.Server, lim mcphttp.ServerLimits, serve func(http.ResponseWriter, *http.Request), joined func(*Join)) *http1.Server {
	n.serve, n.joined, n.local = serve, joined, sessions
	return http1.NewServer(mcphttp.HTTPServer(http.HandlerFunc(n.handle), lim, n.opt.Log))
}

type hopKey struct{}

// handedOver says that another replica sent a request.
func handedOver(ctx context.Context) bool { return ctx.Value(hopKey{}) != nil }

// handle answers a request of another replica: only those can make a
// connection.
func (n *Node) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == surveyPath {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.view(r.Header.Get(headerSession))) // who asked is gone when this fails
		return
	}
	if r.URL.Path == rollPath {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.opt.Describe()) // who asked is gone when this fails
		return
	}
	if r.URL.Path == drainPath && r.Method == http.MethodPost {
		n.opt.Drain()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == rebalancePath && r.Method == http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(n.opt.Rebalance()) // who asked is gone when this fails
		return
	}
	server, placed := placedServer(r.URL.EscapedPath())
	who, known := n.who.find(r.Header.Get(headerPrincipal), principalOf)
	switch {
	case !known && !placed || r.Header.Get(headerHop) != "1":
		http.Error(w, "not a request of a replica", http.StatusBadRequest)
		return
	case strings.HasPrefix(r.URL.Path, APIPath): // to look runs nothing, so any run will do
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
			// The connection is about to be closed, which alone would say that
			// nothing was begun.
			http.NewResponseController(w).Flush()
			panic(v)
		}
	}()
	ctx := context.WithValue(access.With(r.Context(), who), hopKey{}, true)
	n.serve(w, r.WithContext(ctx))
}

// notRun says that a request was not begun.
func notRun(w http.ResponseWriter, why string) {
	w.Header().Set(headerNotRun, why)
	w.WriteHeader(http.StatusMisdirectedRequest)
}

// principalOf reads what principalText wrote.
func principalOf(text string) (p access.Principal, ok bool) {
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	return p, err == nil && p.ID != ""
}
