package mcphttp

import (
	"io"
	"net/http"
	"net/url"
	"sync"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonrpc/duplex"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// ServeSSE serves the stream of legacy HTTP+SSE. It tells the client to POST to
// messagePath, and ends with its session.
func (s *Server) ServeSSE(w http.ResponseWriter, r *http.Request, ep Endpoint, messagePath string, principal string) {
	if r.Method != http.MethodGet {
		otherMethod(w, r, allowGet)
		return
	}
	accept := acceptedBy(r.Header["Accept"])
	switch {
	case !accept.events && !accept.json:
		Refuse(w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "Accept must include text/event-stream")
		return
	case s.ending.isDraining():
		refuseDraining(w)
		return
	}
	if full := s.table.reserve(principal, &s.lim, s.lim.others(principal)); full != "" {
		refuseOverload(w, full)
		return
	}
	ss := s.newSession(r, TransportSSE, ep, principal)
	ss.enter()
	defer ss.leave()
	if err := s.openLine(ss, r); err != nil {
		s.table.release(principal)
		ss.close(ErrSessionEnded)
		refuseOpen(w, s.log, nil, err, func(*jsonrpc.Response) int { return http.StatusServiceUnavailable })
		return
	}
	defer ss.close(ErrSessionEnded)
	defer close(ss.line.served)
	k := newSink(w, r.Context(), &s.lim, principal)
	k.endAt(s.until(r.Context()))
	defer k.release()
	ss.line.out.attach(k)
	defer ss.line.out.detach(k) // also if it cannot begin
	ss.countStreams(1)
	defer ss.countStreams(-1)
	s.name(ss, nil)
	s.table.add(ss)
	if err := k.start(ss.line.out, false); err != nil {
		return
	}
	if err := k.write(sse.AppendEndpoint(nil, messagePath+"?sessionId="+url.QueryEscape(ss.id))); err != nil {
		return
	}
	s.gone(ss.line.pump(k))
}

// openLine creates the handler of an SSE session and its duplex.Conn.
func (s *Server) openLine(ss *session, r *http.Request) error {
	l := &sseLine{ss: ss, in: make(chan []byte), eof: make(chan struct{}), served: make(chan struct{})}
	l.out = ss.journal.newStream(nil)
	h := &lateHandler{}
	conn := duplex.NewConn(l, duplex.ConnOptions{
		Handler: h, Strict: true, MaxInFlight: s.lim.InFlight, Limits: s.lim.Scan,
		Batch:        func() bool { return mcp.Rules(ss.handler.Version()).Batch },
		CancelMethod: mcp.NotificationCancelled, Uncancellable: mcp.MethodInitialize,
		OnDropped: func(string, []byte) { s.dropped.Add(1) },
	})
	l.conn = conn
	ss.line = l
	opened, err := s.open(ss.ctx, &Opening{
		Transport: TransportSSE, Endpoint: ss.ep, Client: conn,
		Header: r.Header, Host: r.Host, End: ss.end,
	})
	if err != nil {
		return err
	}
	h.Handler, ss.handler = opened, opened
	return nil
}

// lateHandler breaks a cycle: the Session needs the Conn, and the Conn needs the
// Session as handler. Nothing is read before both exist.
type lateHandler struct{ jsonrpc.Handler }

// An sseLine is the message stream of one SSE session: POSTs in, events out.
type sseLine struct {
	ss     *session
	conn   *duplex.Conn
	in     chan []byte
	out    *stream
	once   sync.Once
	eof    chan struct{} // no more input
	served chan struct{} // no more output
}

// Read returns the next message that the client posted.
func (l *sseLine) Read() ([]byte, func(), error) {
	select {
	case msg := <-l.in:
		return msg, nil, nil
	case <-l.eof:
		return nil, nil, io.EOF
	}
}

// Write sends a message as an event.
func (l *sseLine) Write(parts ...[]byte) error {
	var msg []byte
	for _, part := range parts {
		msg = append(msg, part...)
	}
	if !l.out.append(sse.OneLine(msg), &l.ss.srv.lim) {
		return jsonrpc.ErrClosed
	}
	return nil
}

// Close ends both directions.
func (l *sseLine) Close() error {
	l.endInput()
	l.out.finish()
	return nil
}

// endInput lets the running calls finish; no new call begins.
func (l *sseLine) endInput() { l.once.Do(func() { close(l.eof) }) }

// pump writes the events until the client disconnects or the session ends.
func (l *sseLine) pump(k *sink) error {
	return l.out.pump(k, l.ss.ctx, l.conn.Done())
}

// ServeMessage serves the POSTs of legacy HTTP+SSE.
func (s *Server) ServeMessage(w http.ResponseWriter, r *http.Request, principal string) {
	if r.Method != http.MethodPost {
		otherMethod(w, r, allowPost)
		return
	}
	in := &incoming{srv: s, w: w, r: r, principal: principal}
	if !in.checkHeader() {
		return
	}
	id := r.URL.Query().Get("sessionId")
	ss := s.table.get(r.Context(), id, principal)
	if ss == nil && s.elsewhere != nil && s.elsewhere(w, &Away{Request: r, Principal: principal, Session: id, Line: true, in: in}) == Answered {
		in.giveBack()
		return
	}
	if ss == nil || ss.line == nil || !ss.enter() {
		if s.ending.isDraining() { // draining has ended the session
			refuseDraining(w)
		} else {
			refuseSession(w)
		}
		return
	}
	defer ss.leave()
	body, ok := in.readBody()
	if !ok {
		return
	}
	msg := append([]byte(nil), body...) // the message outlives this POST
	defer in.giveBack()                 // it counts until the session takes the message
	select {
	case ss.line.in <- msg:
		w.WriteHeader(http.StatusAccepted)
	case <-ss.line.eof:
		refuseSession(w)
	case <-r.Context().Done():
	}
}
