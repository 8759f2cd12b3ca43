package mcphttp

import (
	"context"
	"errors"
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Start describes how a session began, so that another process can begin it
// again.
type Start struct {
	Transport Transport
	Endpoint  Endpoint
	Principal string
	// Version is the negotiated version. Capabilities and ClientInfo are raw, as the
	// client sent them.
	Version                  string
	Capabilities, ClientInfo []byte
	// Bound says that some state of the session exists only in this process, so that
	// the session cannot be restored elsewhere.
	Bound bool
	// Wants are the client's subscriptions since then.
	Wants Wants
}

// An Away is a request that may be for another replica: its session is not here, it
// continues a call by a handle, or this replica is stopping.
type Away struct {
	Request   *http.Request
	Endpoint  Endpoint
	Principal string
	Session   string // the session id; empty outside sessions
	Handle    string // requestState, or the id of a task
	Ends      bool   // this replica is stopping; any other replica may answer a request without a session
	Line      bool   // the session is a legacy HTTP+SSE connection
	Page      bool   // it is no message, and fails with an HTTP status

	// Body and ID are set by Read if the request is a POST. Quiet says that the
	// message needs no response.
	Body  []byte
	ID    []byte
	Quiet bool
	in    *incoming
}

// Read reads the body of a POST; it reports false if the request has been answered.
func (a *Away) Read() bool {
	if a.in == nil || a.Body != nil {
		return true
	}
	body, ok := a.in.readBody()
	if !ok {
		return false
	}
	a.Body = body
	if jsonrpc.IsBatch(body) {
		return true
	}
	if m, err := jsonrpc.Scan(body, &a.in.srv.lim.Scan); err == nil {
		a.ID, a.Quiet = m.ID, m.Kind != jsonrpc.KindRequest
	}
	return true
}

// A Whereabouts says where a request was or should be answered.
type Whereabouts uint8

const (
	Nowhere  Whereabouts = iota // no replica knows it
	Here                        // by this server: the session is in its table now
	Answered                    // it has been answered
)

// find looks for the session of a request, here and then at the other replicas. If
// it returns nil, the request has been answered.
func (s *Server) find(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string, in *incoming) *session {
	ids := r.Header[mcp.HeaderSession]
	for range looks {
		if ss := s.sessionOf(r, ep, principal); ss != nil {
			return ss
		}
		if s.elsewhere == nil || len(ids) != 1 {
			break
		}
		came := s.elsewhere(w, &Away{Request: r, Endpoint: ep, Principal: principal, Session: ids[0], in: in})
		if came == Answered {
			return nil
		}
		if came == Nowhere {
			break
		}
	}
	refuseSession(w)
	return nil
}

// looks is how often find looks for a session. This replica may have begun to stop
// and given the session away again.
const looks = 3

// outside describes a request outside sessions for another replica.
func outside(p *post, m *jsonrpc.Message) *Away {
	handle, _ := jsonrpc.GetString(m.Params, "requestState")
	if member := mcp.NameMember(m.Method); member == mcp.TaskMember && handle == "" {
		handle, _ = jsonrpc.GetString(m.Params, member)
	}
	return &Away{
		Request: p.r, Endpoint: p.ep, Principal: p.principal, Handle: handle, Ends: p.srv.ending.isDraining(),
		Body: *p.buf, ID: m.ID, in: &p.incoming,
	}
}

// continued forwards a retry to the replica where its call waits and, if this
// replica is stopping, a new call to any other replica. It reports false if the
// request must be answered here.
func (p *post) continued(m *jsonrpc.Message) bool {
	if p.srv.elsewhere == nil {
		return false
	}
	a := outside(p, m)
	// A listen stream ends here with the others; the client opens it again at
	// another replica.
	a.Ends = a.Ends && m.Method != mcp.MethodListen
	return (a.Handle != "" || a.Ends) && p.srv.elsewhere(p.w, a) == Answered
}

// handOn forwards a call to another replica if this one is stopping and has not
// begun the call. It reports false if there is no other replica.
func (p *post) handOn(m *jsonrpc.Message) bool {
	// The draining error may come from a server that is a gateway itself: check our
	// own state.
	if p.srv.elsewhere == nil || !p.srv.ending.isDraining() || !p.hush(true) {
		return false
	}
	a := outside(p, m)
	if p.session != nil {
		p.session.end()
		a.Session, a.Handle, a.Ends = p.session.id, "", false
	}
	if p.srv.elsewhere(p.w, a) == Answered {
		return true
	}
	p.hush(false)
	return false
}

// shutDown reports whether a request was cancelled because this server stops:
// with all calls, or with its session, which ends after the last call.
func shutDown(why error) bool {
	return errors.Is(why, mcp.CutShort) || errors.Is(why, errShutDown)
}

// tooLate forwards a request that was still being read when all calls were
// cancelled.
func tooLate(ctx context.Context, p *post, m *jsonrpc.Message) bool {
	return shutDown(context.Cause(ctx)) && p.r.Context().Err() == nil && m.Method != mcp.MethodListen && p.handOn(m)
}

// notBegun forwards a request that was refused because this replica is stopping,
// even if all calls are cancelled at that moment.
func notBegun(ctx context.Context, p *post, m *jsonrpc.Message, resp *jsonrpc.Response) bool {
	why := context.Cause(ctx)
	return (why == nil || shutDown(why)) && mcp.IsDraining(resp) && p.handOn(m)
}

// hush keeps others from sending the response, or allows it again. It reports false
// if a stream has begun.
func (a *reply) hush(on bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream != nil {
		return false
	}
	a.over = on
	return true
}

// refused answers a POST outside sessions that comes too late: with another
// replica, if there is one.
func refused(p *post) bool {
	s := p.srv
	if p.session != nil || !s.refusesNew() {
		return false
	}
	defer p.giveBack()
	a := &Away{Request: p.r, Endpoint: p.ep, Principal: p.principal, Ends: true, in: &p.incoming}
	listens := p.r.Header.Get(mcp.HeaderMethod) == mcp.MethodListen
	if s.elsewhere == nil || listens || s.elsewhere(p.w, a) != Answered {
		refuseDraining(p.w)
	}
	return true
}

// name gives a session its cluster-wide id.
func (s *Server) name(ss *session, params []byte) {
	if s.newID == nil {
		return
	}
	bound, _ := ss.handler.(interface{ Bound() bool })
	id := s.newID(ss.ctx, Start{
		Transport: ss.transport, Endpoint: ss.ep, Principal: ss.principal, Version: ss.handler.Version(),
		Capabilities: jsonrpc.Get(params, "capabilities"), ClientInfo: jsonrpc.Get(params, "clientInfo"),
		Bound: ss.transport == TransportSSE || bound != nil && bound.Bound(),
	})
	if id != "" {
		ss.id = id
	}
}

// ref returns a part of the id: enough to tell sessions apart, too little to use
// one. Cluster-wide ids have a common prefix, so it is their end.
func (ss *session) ref() string {
	if ss.srv.newID != nil {
		return ss.id[len(ss.id)-8:]
	}
	return ss.id[:8]
}
