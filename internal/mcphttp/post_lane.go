package mcphttp

import (
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/wire"
)

// A lane answers the calls of a session on a connection whose requests repeat
// the header of one that was judged. It implements wire.Lane.
type lane struct {
	srv       *Server
	session   *session
	ep        Endpoint
	principal string
	version   string
	accept    accepted
}

// Lane is for requests with the header of r, which was answered; nil when each
// has to be looked at anew.
func (s *Server) Lane(r *http.Request, ep Endpoint, principal string) wire.Lane {
	p := post{srv: s, w: nobody{}, r: r}
	if !p.checkHeader() || p.unknown || isModern(p.version) {
		return nil
	}
	ss := s.sessionOf(r, ep, principal)
	if ss == nil {
		return nil
	}
	ss.leave()
	return &lane{srv: s, session: ss, ep: ep, principal: principal, version: p.version, accept: p.accept}
}

// Serve answers one call of a tool: there is little else in large numbers.
func (l *lane) Serve(w wire.LaneWriter, body []byte) bool {
	if l.srv.isDraining() || int64(len(body)) > l.srv.lim.Body || jsonrpc.IsBatch(body) {
		return false
	}
	m, err := jsonrpc.Scan(body, &l.srv.lim.Scan)
	if err != nil || m.Kind != jsonrpc.KindRequest || m.Method != mcp.MethodToolsCall || saysVersion(m.Params) {
		return false
	}
	p := &post{
		srv: l.srv, w: w, ep: l.ep, principal: l.principal, version: l.version,
		accept: l.accept, session: l.session,
	}
	return p.serveCall(&m)
}

// serveCall answers a request of the session, unless there is more to it than
// running it now.
func (p *post) serveCall(m *jsonrpc.Message) bool {
	ss := p.session
	select {
	case ss.slots <- struct{}{}:
		defer func() { <-ss.slots }()
	default:
		return false
	}
	p.ctx.Init(ss.ctx)
	p.runs = running{&p.ctx, m.Method}
	if !ss.enterWith(m.ID, &p.runs) {
		return false
	}
	defer ss.leaveWith(m.ID)
	p.begin(m)
	defer p.end()
	p.answer(m.ID, p.run(&p.ctx, ss.handler, p, m))
	return true
}

// nobody hears what is wrong with a header: that was said already.
type nobody struct{}

func (nobody) Header() http.Header         { return http.Header{} }
func (nobody) Write(b []byte) (int, error) { return len(b), nil }
func (nobody) WriteHeader(int)             {}
