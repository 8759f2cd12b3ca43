package mcphttp

import (
	"math/rand/v2"
	"net/http"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Has reports whether this process has the session, for any principal.
func (s *Server) Has(id string) bool {
	s.table.mu.RLock()
	defer s.table.mu.RUnlock()
	return s.table.byID[id] != nil
}

// Restore begins a session again that another process lost, under its id. The
// client hears on its next stream that all lists may have changed.
func (s *Server) Restore(r *http.Request, id string, st Start) error {
	if full := s.table.reserve(st.Principal, &s.lim); full != "" {
		return mcp.Failure(mcp.Overloaded, "", full)
	}
	ss := s.newSession(r, TransportSession, st.Endpoint, st.Principal)
	ss.id = id
	ss.lastID = rand.Uint64N(1 << 50) // an answer to a question of the old one fits none of ours
	if err := s.begin(ss, r, st); err != nil {
		s.table.release(st.Principal)
		ss.close(ErrSessionEnded)
		return err
	}
	s.table.add(ss)
	ss.watch()
	for _, changed := range []string{mcp.NotificationTools, mcp.NotificationPrompts, mcp.NotificationResources} {
		ss.Notify(ss.ctx, &jsonrpc.Notification{Method: changed})
	}
	s.log.Info("session opened", "session", ss.ref(), "transport", ss.transport, "restored", true)
	return nil
}

// begin shakes hands for a client that did so before.
func (s *Server) begin(ss *session, r *http.Request, st Start) error {
	h, err := s.open(ss.ctx, &Opening{
		Transport: TransportSession, Endpoint: st.Endpoint, Principal: st.Principal, Client: ss,
		Header: r.Header, RemoteAddr: r.RemoteAddr, Host: r.Host, End: ss.end,
	})
	if err != nil {
		return err
	}
	ss.handler = h
	params := jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(st.Version), "protocolVersion")
	params = jsonrpc.Set(params, st.Capabilities, "capabilities")
	params = jsonrpc.Set(params, st.ClientInfo, "clientInfo")
	resp, err := h.Handle(ss.ctx, ss, &jsonrpc.Request{Method: mcp.MethodInitialize, Params: params})
	if err == nil && resp.Err != nil {
		err = resp.Err
	}
	resp.Release()
	return err
}

// lingers is how long a replica that ends keeps a session whose calls run, so
// that what they ask is answered where they run.
const lingers = 2 * time.Second

// givesUp says that a session is left to the other replicas, because this one
// ends: at once where nothing of it runs.
func (s *Server) givesUp(ss *session) bool {
	if s.elsewhere == nil || !s.ending.isDraining() {
		return false
	}
	ss.mu.Lock()
	idle := ss.busy == ss.streams
	asks := len(ss.asked) > 0
	ss.mu.Unlock()
	if !idle && (asks || time.Since(s.ending.since) < lingers) {
		return false
	}
	ss.end()
	return true
}

// refusesNew says that what is new is refused, because this server ends. One of
// several replicas goes on until the last moment: what begins here is found by
// the others.
func (s *Server) refusesNew() bool {
	if s.elsewhere == nil {
		return s.ending.isDraining()
	}
	return isClosed(s.ending.closed)
}
