package mcphttp

import (
	"net/http"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/loop"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/wire"
)

// A lane answers the calls of a session, or of a modern client, on a connection
// whose requests repeat the header of one that was judged. It implements
// wire.Lane.
type lane struct {
	srv       *Server
	session   *session     // nil for a modern client
	modern    *modernCalls // nil for a session
	handler   Session
	ep        Endpoint
	principal string
	version   string
	accept    accepted
	relayer   jsonrpc.Relayer // nil when the handler is none
	turn      jsonrpc.Turn

	// Of the request that is answered.
	w   wire.LaneWriter
	req jsonrpc.Request
}

// Lane is for requests with the header of r, which was answered; nil when each
// has to be looked at anew.
func (s *Server) Lane(r *http.Request, ep Endpoint, principal string) wire.Lane {
	p := post{srv: s, w: nobody{}, r: r, ep: ep, principal: principal}
	if !p.checkHeader() || p.unknown {
		return nil
	}
	l := &lane{srv: s, ep: ep, principal: principal, version: p.version, accept: p.accept}
	if isModern(p.version) {
		if l.modern = p.modernCalls(); l.modern == nil {
			return nil
		}
	} else {
		ss := s.sessionOf(r, ep, principal)
		if ss == nil {
			return nil
		}
		ss.leave()
		l.session = ss
		l.handle(ss.handler)
	}
	l.turn.Wait = func() { l.w.Recall() }
	return l
}

func (l *lane) handle(h Session) {
	l.handler = h
	l.relayer, _ = h.(jsonrpc.Relayer)
}

// Serve answers one call of a tool: there is little else in large numbers.
func (l *lane) Serve(w wire.LaneWriter, body []byte) bool {
	p, m, ok := l.enter(w, body, time.Since(begun))
	if !ok {
		return false
	}
	l.w = w
	if !l.relay(&l.turn, w, p, &m) {
		p.answer(m.ID, p.run(&p.ctx, l.handler, p, &m))
		p.leaveLane()
	}
	return true
}

// Begin is Serve for a call that is passed on without waiting.
func (l *lane) Begin(w wire.LaneWriter, body []byte, t *loop.Turn) bool {
	turn := jsonrpc.TurnOf(t)
	p, m, ok := l.enter(w, body, turn.Now().Sub(begun))
	if !ok {
		return false
	}
	if !l.relay(turn, w, p, &m) {
		p.leaveLane()
		return false
	}
	return true
}

// Idle implements wire.Lane. Nobody tells the handler of a modern client what
// changes, so that it would keep alive what it has seen last.
func (l *lane) Idle() {
	if l.modern != nil {
		l.handler, l.relayer = nil, nil
	}
}

// enter counts a request in; false when it is not for the lane.
func (l *lane) enter(w wire.LaneWriter, body []byte, now time.Duration) (p *post, m jsonrpc.Message, ok bool) {
	if l.srv.isDraining() || int64(len(body)) > l.srv.lim.Body || jsonrpc.IsBatch(body) {
		return nil, m, false
	}
	m, err := jsonrpc.Scan(body, &l.srv.lim.Scan)
	if err != nil || m.Kind != jsonrpc.KindRequest || m.Method != mcp.MethodToolsCall {
		return nil, m, false
	}
	p = &post{
		srv: l.srv, w: w, ep: l.ep, principal: l.principal, version: l.version,
		accept: l.accept, session: l.session,
	}
	if l.modern != nil {
		return p, m, l.enterModern(p, &m, now)
	}
	return p, m, !saysVersion(m.Params) && p.enterLane(&m, now)
}

// enterLane counts a request of a session in; false when there is more to it
// than running it now.
func (p *post) enterLane(m *jsonrpc.Message, now time.Duration) bool {
	ss := p.session
	select {
	case ss.slots <- struct{}{}:
	default:
		return false
	}
	p.ctx.Init(ss.ctx)
	p.runs = running{&p.ctx, m.Method}
	if !ss.enterWith(m.ID, &p.runs) {
		<-ss.slots
		return false
	}
	p.begin(m, now)
	return true
}

// leaveLane is the counterpart of enterLane.
func (p *post) leaveLane() {
	p.end()
	if p.session != nil {
		p.session.leaveWith(p.id)
		<-p.session.slots
	}
}

// relay passes a request on, where the session can, without waiting for the
// answer.
func (l *lane) relay(t *jsonrpc.Turn, w wire.LaneWriter, p *post, m *jsonrpc.Message) bool {
	if l.relayer == nil || !p.accept.json {
		return false
	}
	p.id = append(p.idRoom[:0], m.ID...) // the body is gone when the answer comes
	w.Defer()
	relayed := l.pass(t, p, m)
	if relayed && !p.waited {
		return true
	}
	w.Recall()
	if relayed {
		p.answer(p.id, p.result)
		p.leaveLane()
	}
	return relayed
}

func (l *lane) pass(t *jsonrpc.Turn, p *post, m *jsonrpc.Message) (relayed bool) {
	defer func() {
		if t == &l.turn {
			t.End() // others end when all of them are through
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			p.Complete(t, p.panicked(m.Method, v), nil)
			relayed = true
		}
	}()
	l.req = jsonrpc.Request{Method: m.Method, Params: m.Params}
	return l.relayer.Relay(&p.ctx, t, p, &l.req, p)
}

// Complete implements jsonrpc.Completion for a request that was passed on.
func (p *post) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	switch {
	case p.completed.Swap(true):
		resp.Release()
		return
	case t != nil && t.Wait != nil: // the lane's own
		p.waited, p.result = true, p.outcome(&p.ctx, p.method, resp, err)
		return
	case t != nil && (p.settle() != nil || resp != nil && len(resp.Result) > joined): // writing it may take waiting
		go p.conclude(resp, err)
		return
	}
	p.conclude(resp, err)
}

func (p *post) conclude(resp *jsonrpc.Response, err error) {
	p.answer(p.id, p.outcome(&p.ctx, p.method, resp, err))
	p.leaveLane()
	p.w.(wire.LaneWriter).Finish()
}

// nobody hears what is wrong with a header: that was said already.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) WriteHeader(int)             {}
