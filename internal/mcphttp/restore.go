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

// Restore begins a session again that another process lost, with the same id. On
// its next stream, the client is notified that all lists may have changed.
func (s *Server) Restore(r *http.Request, id string, st Start) error {
	if full := s.table.reserve(st.Principal, &s.lim, 0); full != "" { // the lost process may be among the others
		return mcp.Failure(mcp.Overloaded, "", full)
	}
	ss := s.newSession(r, TransportSession, st.Endpoint, st.Principal)
	ss.id = id
	ss.lastID = rand.Uint64N(1 << 50) // a response to a request of the old process must not match one of ours
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
	ss.repeat(st.Wants)
	s.log.Info("session opened", "session", ss.ref(), "transport", ss.transport, "restored", true)
	return nil
}

// begin repeats the initialize of the client.
func (s *Server) begin(ss *session, r *http.Request, st Start) error {
	h, err := s.open(ss.ctx, &Opening{
		Transport: TransportSession, Endpoint: st.Endpoint, Client: ss,
		Header: r.Header, Host: r.Host, End: ss.quit,
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

// lingers is how long a stopping replica keeps a session with running calls, so
// that the client's responses reach those calls.
const lingers = 2 * time.Second

// givesUp reports whether a session is left to the other replicas because this one
// is stopping: at once if nothing runs in it.
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

// refusesNew reports whether new requests are refused because this server is
// stopping. One of several replicas accepts them until it is closed, because the
// other replicas can find its sessions.
func (s *Server) refusesNew() bool {
	if s.elsewhere == nil {
		return s.ending.isDraining()
	}
	return isClosed(s.ending.closed)
}
