package mcphttp

import (
	"context"
	"errors"
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Start is how a session began: what it takes to begin it again in another
// process.
type Start struct {
	Transport Transport
	Endpoint  Endpoint
	Principal string
	// Version is what was agreed on; Capabilities and ClientInfo are what the
	// client said, raw.
	Version                  string
	Capabilities, ClientInfo []byte
	// Bound says that something of the session is in this process alone, so that
	// it cannot begin again.
	Bound bool
}

// An Away is a request that may be meant for another replica: its session is
// not here, it continues a call by a handle, or this replica ends.
type Away struct {
	Request   *http.Request
	Endpoint  Endpoint
	Principal string
	Session   string // its id; empty outside sessions
	Handle    string // requestState, or the id of a task
	Ends      bool   // this replica ends, and any other one may answer what has no session
	Line      bool   // the session is a connection of legacy HTTP+SSE

	// Body and ID are those of a POST, once Read was called. Quiet says that
	// nobody waits for an answer to what is in it.
	Body  []byte
	ID    []byte
	Quiet bool
	in    *incoming
}

// Read reads the body of a POST; false means that the request has been
// answered.
func (a *Away) Read() bool {
	if a.in == nil || a.Body != nil {
		return true
	}
	body, ok := a.in.readBody()
	if !ok {
		a.in.buf = nil
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

// A Whereabouts says where a request was answered, or is to be.
type Whereabouts uint8

const (
	Nowhere  Whereabouts = iota // nobody knows it
	Here                        // by this server, in whose table the session is now
	Answered                    // it has been
)

// find looks for the session of a request, here and then at the other replicas.
// When it returns nil the request has been answered.
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

// looks is how often a session is looked for that was here a moment ago: this
// replica may have begun to end, and given it up again.
const looks = 3

// outside is a request outside sessions, for another replica.
func outside(p *post, m *jsonrpc.Message) *Away {
	handle, _ := jsonrpc.GetString(m.Params, "requestState")
	if member := mcp.NameMember(m.Method); member == mcp.TaskMember && handle == "" {
		handle, _ = jsonrpc.GetString(m.Params, member) // the id of a task
	}
	return &Away{
		Request: p.r, Endpoint: p.ep, Principal: p.principal, Handle: handle, Ends: p.srv.ending.isDraining(),
		Body: *p.buf, ID: m.ID, in: &p.incoming,
	}
}

// continued hands a retry that continues a call to the replica where that call
// waits, and when this one ends, what is new to any other; false when it is to
// be answered here.
func (p *post) continued(m *jsonrpc.Message) bool {
	if p.srv.elsewhere == nil {
		return false
	}
	a := outside(p, m)
	// A stream outside calls ends here with the others, and begins anew elsewhere.
	a.Ends = a.Ends && m.Method != mcp.MethodListen
	return (a.Handle != "" || a.Ends) && p.srv.elsewhere(p.w, a) == Answered
}

// handOn gives a call that this replica did not begin, because it ends, to
// another one; false when there is none.
func (p *post) handOn(m *jsonrpc.Message) bool {
	// A server that is a gateway may end, too, and say the same.
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

// tooLate hands a request on that came when all that runs had been ended: it was
// still being read.
func tooLate(ctx context.Context, p *post, m *jsonrpc.Message) bool {
	return errors.Is(context.Cause(ctx), ErrDraining) && p.r.Context().Err() == nil && m.Method != mcp.MethodListen && p.handOn(m)
}

// notBegun hands a request on that was refused because this replica ends, also
// when all that runs is ended at that moment.
func notBegun(ctx context.Context, p *post, m *jsonrpc.Message, resp *jsonrpc.Response) bool {
	why := context.Cause(ctx)
	return (why == nil || errors.Is(why, ErrDraining)) && mcp.IsDraining(resp) && resp.Err != cutShort && p.handOn(m)
}

// hush keeps everybody else from answering, or lets them; false when a stream
// has begun.
func (a *reply) hush(on bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stream != nil {
		return false
	}
	a.over = on
	return true
}

// refused answers a POST outside sessions that comes too late: by another
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

// name gives a session the id that a cluster knows it by.
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

// ref is enough of the id to tell sessions apart, and too little to use one. Ids
// that a cluster gave all begin alike.
func (ss *session) ref() string {
	if ss.srv.newID != nil {
		return ss.id[len(ss.id)-8:]
	}
	return ss.id[:8]
}
