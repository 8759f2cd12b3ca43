package mcphttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// opening describes this POST to ServerOptions.Open.
func (in *incoming) opening(t Transport) *Opening {
	return &Opening{
		Transport: t, Endpoint: in.ep,
		Header: in.r.Header, Host: in.r.Host,
	}
}

// refuseOpen answers a request whose Session could not be opened. If the error has
// no HTTP status, statusOf decides.
func refuseOpen(w http.ResponseWriter, log *slog.Logger, id []byte, err error, statusOf func(*jsonrpc.Response) int) {
	wire := new(jsonrpc.Error)
	if !errors.As(err, &wire) {
		log.Error("session not opened", "err", err)
		writeError(w, http.StatusInternalServerError, id, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error"))
		return
	}
	status := statusOf(&jsonrpc.Response{Err: wire})
	if wire.Code >= 400 && wire.Code < 600 { // the code is an HTTP status
		status = int(wire.Code)
	}
	if reason, _ := jsonrpc.GetString(wire.Data, "reason"); reason == string(mcp.Overloaded) {
		w.Header()["Retry-After"] = retrySoon
		status = http.StatusServiceUnavailable
	}
	writeError(w, status, id, wire)
}

// serveAlone answers one message outside any session. If the client disconnects,
// the call is cancelled.
func (p *post) serveAlone(m *jsonrpc.Message, t Transport) {
	if m.Kind != jsonrpc.KindRequest && m.Kind != jsonrpc.KindNotification {
		p.srv.dropped.Add(1) // a response without a request
		p.w.WriteHeader(http.StatusAccepted)
		return
	}
	ctx := p.within(p.r.Context(), m)
	defer p.end()
	if m.Kind == jsonrpc.KindRequest && tooLate(ctx, p, m) {
		return
	}
	h, err := p.srv.open(ctx, p.opening(t))
	if err != nil {
		refuseOpen(p.w, p.srv.log, m.ID, err, p.status)
		return
	}
	defer h.Close()
	if m.Kind == jsonrpc.KindNotification {
		h.HandleNotification(ctx, deaf{}, &jsonrpc.Notification{Method: m.Method, Params: m.Params})
		p.w.WriteHeader(http.StatusAccepted)
		return
	}
	resp := run(ctx, p.srv.log, h, p, m)
	if notBegun(ctx, p, m, resp) {
		return
	}
	p.answer(m.ID, resp)
}

// serveInitialize opens a session. The session enters the table, and its id the
// response, only if initialize succeeds.
func (p *post) serveInitialize(m *jsonrpc.Message) {
	s := p.srv
	if full := s.table.reserve(p.principal, &s.lim, s.lim.others(p.principal)); full != "" {
		if !p.handOn(m) {
			refuseOverload(p.w, full)
		}
		return
	}
	ss := s.newSession(p.r, TransportSession, p.ep, p.principal)
	ctx := p.within(ss.ctx, m)
	defer p.end()
	if tooLate(ctx, p, m) {
		s.table.release(p.principal)
		ss.close(ErrSessionEnded)
		return
	}
	resp, err := p.initialize(ctx, ss, m)
	if err != nil || resp == nil || resp.Err != nil || p.r.Context().Err() != nil {
		s.table.release(p.principal)
		ss.close(ErrSessionEnded)
		if err != nil {
			refuseOpen(p.w, p.srv.log, m.ID, err, p.status)
		} else {
			p.answer(m.ID, resp)
		}
		return
	}
	s.name(ss, m.Params)
	s.table.add(ss)
	ss.watch()
	s.log.Info("session opened", "session", ss.ref(), "transport", ss.transport)
	p.w.Header()[mcp.HeaderSession] = []string{ss.id}
	p.answer(m.ID, resp)
}

func (p *post) initialize(ctx context.Context, ss *session, m *jsonrpc.Message) (*jsonrpc.Response, error) {
	o := p.opening(TransportSession)
	o.Client, o.End = ss, ss.quit
	h, err := p.srv.open(ss.ctx, o)
	if err != nil {
		return nil, err
	}
	ss.handler = h
	return run(ctx, p.srv.log, h, ss, m), nil
}
