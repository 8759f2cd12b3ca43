package mcphttp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// incoming is a POST as received.
type incoming struct {
	srv       *Server
	w         http.ResponseWriter
	r         *http.Request
	ep        Endpoint
	principal string
	version   string // from the header
	unknown   bool   // the version in the header never existed
	accept    accepted
	buf       *[]byte // holds the body
	held      int64   // counts for the principal until the request is answered
}

// A reply is the response to a POST. While the request runs, it is also the peer
// for messages to the client: the first message before the result turns the
// response into an event stream.
type reply struct {
	incoming
	modern  bool
	session *session                // nil outside sessions
	id      []byte                  // raw id of the request, nil for a batch
	cancel  context.CancelCauseFunc // cancels everything that runs for this POST

	mu     sync.Mutex
	stream *stream // set once the response is an event stream
	pumped chan struct{}
	over   bool // the response has been sent
}

// A post is one POST that is being answered.
type post struct {
	reply
	started time.Duration // time since start
	method  string        // of the request, "" for a batch
	runs    running       // its entry in the session

	list           *postList
	prev, nextPost *post // guarded by the list
}

// servePost reads one POST on an MCP URL and decides how to answer it.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request, ep Endpoint, principal string) {
	p := &post{reply: reply{incoming: incoming{srv: s, w: w, r: r, ep: ep, principal: principal}}}
	if !p.checkHeader() {
		return
	}
	if !mcp.IsModern(p.version) && len(r.Header[mcp.HeaderSession]) > 0 {
		if p.session = s.find(w, r, ep, principal, &p.incoming); p.session == nil {
			p.giveBack()
			return
		}
		defer p.session.leave()
	}
	if refused(p) {
		return
	}
	body, ok := p.readBody()
	if !ok {
		return
	}
	defer p.giveBack()
	if jsonrpc.IsBatch(body) {
		p.serveBatch(body)
		return
	}
	m, err := jsonrpc.Scan(body, &s.lim.Scan)
	if err != nil {
		p.failScan(&m, err)
		return
	}
	if p.unknown {
		p.fail(http.StatusBadRequest, m.ID, mcp.UnsupportedVersion(p.version))
		return
	}
	switch {
	case mcp.IsModern(p.version) || mcp.SaysVersion(m.Params):
		p.serveModern(&m)
	case p.session != nil:
		p.serveSession(&m)
	case m.Kind == jsonrpc.KindRequest && m.Method == mcp.MethodInitialize:
		p.serveInitialize(&m)
	default:
		p.serveAlone(&m, TransportPost)
	}
}

// failScan answers an invalid message. A request with invalid params gets an error
// response. A response with both a result and an error is dropped, like a response
// without a request.
func (p *post) failScan(m *jsonrpc.Message, err *jsonrpc.Error) {
	legacy := !mcp.IsModern(p.version)
	p.srv.lim.countRefused(err)
	switch {
	case legacy && m.Result != nil && m.Err != nil:
		p.srv.dropped.Add(1)
		p.w.WriteHeader(http.StatusAccepted)
	case legacy && err.Code == jsonrpc.CodeInvalidParams:
		p.fail(http.StatusOK, m.ID, err)
	default:
		p.fail(http.StatusBadRequest, m.ID, err)
	}
}

// sessionOf finds and enters the session that a request names.
func (s *Server) sessionOf(r *http.Request, ep Endpoint, principal string) *session {
	ids := r.Header[mcp.HeaderSession]
	if len(ids) != 1 {
		return nil
	}
	ss := s.table.get(r.Context(), ids[0], principal)
	if ss == nil || ss.ep != ep || ss.transport != TransportSession || s.givesUp(ss) || !ss.enter() {
		return nil
	}
	return ss
}

// serveSession answers one message of a session.
func (p *post) serveSession(m *jsonrpc.Message) {
	switch m.Kind {
	case jsonrpc.KindRequest:
		if p.srv.ending.isDraining() && p.srv.elsewhere == nil {
			p.fail(http.StatusOK, m.ID, mcp.ShutsDown())
			return
		}
		ctx := p.within(p.session.ctx, m)
		defer p.end()
		if tooLate(ctx, p, m) {
			return
		}
		p.runs = running{p.cancel, m.Method}
		if !p.session.begin(m.ID, &p.runs) {
			p.fail(http.StatusOK, m.ID, duplicate())
			return
		}
		resp := p.runInSession(ctx, p, m)
		if notBegun(ctx, p, m, resp) {
			return
		}
		p.answer(m.ID, resp)
	case jsonrpc.KindNotification:
		p.session.notified(m)
		p.w.WriteHeader(http.StatusAccepted)
	default:
		p.session.answered(m)
		p.w.WriteHeader(http.StatusAccepted)
	}
}

func duplicate() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "duplicate id: a request with this id is in flight")
}

// runInSession runs a request that is registered in the session; nil means that
// there is no response to send.
func (p *post) runInSession(ctx context.Context, from jsonrpc.Peer, m *jsonrpc.Message) (resp *jsonrpc.Response) {
	ss := p.session
	defer ss.finish(m.ID)
	defer func() { ss.remember(m, resp) }()
	select {
	case ss.slots <- struct{}{}:
		defer func() { <-ss.slots }()
		return run(ctx, p.srv.log, ss.handler, from, m)
	default:
	}
	p.srv.lim.Hits.Add("inFlightPerSession")
	select {
	case ss.slots <- struct{}{}:
		defer func() { <-ss.slots }()
	case <-p.r.Context().Done(): // it has not begun, and the client has disconnected
		return nil
	case <-ctx.Done():
		return ended(ctx, refusal(mcp.NotSent(context.Cause(ctx))))
	}
	return run(ctx, p.srv.log, ss.handler, from, m)
}
