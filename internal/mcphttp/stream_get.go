package mcphttp

import (
	"errors"
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// named finds and enters the session of a GET or DELETE. If it returns nil, the
// request has been answered.
func (s *Server) named(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string) *session {
	version, ok := versionOf(r.Header)
	switch {
	case !ok:
		Refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "more than one MCP-Protocol-Version")
	case mcp.IsModern(version):
		w.Header()["Allow"] = allowPost
		Refuse(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "this protocol version has only POST")
	case version != "" && !isLegacy(version):
		Refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "unsupported MCP-Protocol-Version")
	case r.Method == http.MethodGet && r.ContentLength != 0: // net/http could not detect a disconnect behind an unread body
		Refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "a body is not expected here")
	case r.Method == http.MethodGet && !acceptedBy(r.Header["Accept"]).events:
		Refuse(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "Accept must include text/event-stream")
	case len(r.Header[mcp.HeaderSession]) == 0:
		Refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "missing header Mcp-Session-Id")
	default:
		return s.find(w, r, ep, principal, nil)
	}
	return nil
}

// serveDelete ends a session.
func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string) {
	ss := s.named(w, r, ep, principal)
	if ss == nil {
		return
	}
	ss.final()
	ss.close(ErrSessionEnded)
	ss.leave()
	w.WriteHeader(http.StatusNoContent)
}

// serveGet streams the messages of a session outside calls, or resumes one of its
// streams.
func (s *Server) serveGet(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string) {
	ss := s.named(w, r, ep, principal)
	if ss == nil {
		return
	}
	if s.ending.isDraining() && s.elsewhere == nil {
		refuseDraining(w)
		ss.leave()
		return
	}
	ss.countStreams(1) // before the client gets the header
	k := takeStream(w, r, &s.lim, principal)
	if k == nil {
		ss.countStreams(-1)
		ss.leave()
		return
	}
	k.endAt(s.until(r.Context()))
	var st *stream
	if last := r.Header[mcp.HeaderLastEvent]; len(last) == 1 {
		st = ss.journal.find(last[0], k)
	}
	resumed := st != nil
	if !resumed {
		st = ss.journal.newStream(&ss.out)
		st.attach(k)
	}
	prime := primes(ss) && !resumed
	if k.conn == nil {
		ss.carry(st, k, prime)
		return
	}
	// The session waits for this goroutine, which ends with the session.
	go ss.carry(st, k, prime)
}

// carry writes a stream until it ends, and leaves the session.
func (ss *session) carry(st *stream, k *sink, prime bool) {
	defer ss.leave()
	defer ss.countStreams(-1)
	defer k.release()
	if k.conn != nil {
		defer func() { k.conn.Close(k.isGone()) }()
	}
	if prime {
		if err := k.write(sse.AppendPriming(nil, st.id)); err != nil {
			st.detach(k)
			return
		}
	}
	ss.srv.gone(st.pump(k, ss.ctx, ss.srv.ending.draining))
}

// gone counts streams that were closed because the client did not read.
func (s *Server) gone(err error) {
	if errors.Is(err, errCutOff) {
		s.cutOff.Add(1)
	}
}
