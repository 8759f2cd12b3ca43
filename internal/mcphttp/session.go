package mcphttp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A session is one client that has sent initialize or has opened a legacy HTTP+SSE
// connection.
type session struct {
	srv       *Server
	id        string
	number    uint64 // sequence number of the session
	principal string
	ep        Endpoint
	transport Transport
	opened    time.Time
	handler   Session
	ctx       context.Context // ends with the session
	cancel    context.CancelCauseFunc
	journal   journal
	out       outbox
	line      *sseLine // only for TransportSSE

	mu       sync.Mutex
	lastUsed time.Duration // time since opened
	busy     int           // requests, streams and other POSTs being served
	streams  int           // open GET streams
	ending   bool
	closed   bool
	timer    *time.Timer
	idle     chan struct{}       // made by close, closed when nothing runs in the session
	inFlight map[string]*running // by the raw bytes of the client's id
	slots    chan struct{}
	asked    map[uint64]chan *jsonrpc.Response // our requests to the client
	lastID   uint64
	wants    Wants
}

// running is a client request that is in flight.
type running struct {
	cancel context.CancelCauseFunc
	method string
}

// newSession returns a session that is not in the table yet.
func (s *Server) newSession(r *http.Request, t Transport, ep Endpoint, principal string) *session {
	now := time.Now()
	ss := &session{
		srv: s, id: randomHex(16), principal: principal, ep: ep, transport: t,
		opened: now, number: s.opened.Add(1),
		slots: make(chan struct{}, s.lim.InFlight),
	}
	ss.out.wake = make(chan struct{}, 1)
	if t == TransportSession {
		ss.journal.budget, ss.journal.keep, ss.journal.arm = s.lim.ReplayBytes, s.lim.ReplayFor, ss.soon
		if s.lim.bound(principal) {
			ss.journal.share = func(n int) bool { return s.replays.Add(principal, int64(n)) > replayShare*int64(s.lim.ReplayBytes) }
		}
	}
	ss.ctx, ss.cancel = context.WithCancelCause(context.WithoutCancel(r.Context()))
	return ss
}

// enter marks the session as in use; it reports false if the session has ended.
func (ss *session) enter() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed || ss.ending {
		return false
	}
	ss.busy++
	return true
}

// leave undoes enter.
func (ss *session) leave() {
	ss.mu.Lock()
	ss.busy--
	ss.lastUsed = time.Since(ss.opened)
	end := ss.ending && ss.busy == ss.streams && !ss.closed && ss.line == nil
	if ss.closed && ss.busy == 0 {
		close(ss.idle)
	}
	ss.mu.Unlock()
	if end {
		ss.close(ErrSessionEnded)
	}
}

// end closes the session as soon as none of its calls is in flight.
func (ss *session) end() {
	ss.mu.Lock()
	ss.ending = true
	now := ss.busy == ss.streams && !ss.closed
	ss.mu.Unlock()
	ss.srv.table.remove(ss)
	switch {
	case ss.line != nil:
		ss.line.endInput()
	case now:
		ss.close(ErrSessionEnded)
	}
}

// close ends the session: it cancels all running calls, and closes the handler
// after they have returned. It does not wait for that; Server.Close does.
func (ss *session) close(why error) {
	ss.srv.table.remove(ss)
	ss.mu.Lock()
	if ss.closed {
		ss.mu.Unlock()
		return
	}
	ss.closed = true
	ss.idle = make(chan struct{})
	if ss.busy == 0 {
		close(ss.idle)
	}
	if ss.timer != nil {
		ss.timer.Stop()
	}
	ss.mu.Unlock()
	ss.cancel(why)
	ss.journal.end()
	if ss.line != nil {
		ss.line.endInput()
	}
	go ss.wind()
}

// wind waits for the running calls, then closes the handler.
func (ss *session) wind() {
	defer ss.srv.table.live.Done()
	<-ss.idle
	if ss.line != nil {
		ss.line.conn.Close()
	}
	if ss.handler != nil {
		ss.handler.Close()
	}
	about := []any{"session", ss.ref()}
	if why := context.Cause(ss.ctx); why != ErrSessionEnded {
		about = append(about, "err", why)
	}
	ss.srv.log.Info("session ended", about...)
}

// begin registers a request of the client; it reports false if the id is in use.
func (ss *session) begin(id []byte, c *running) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if _, used := ss.inFlight[string(id)]; used {
		return false
	}
	if ss.inFlight == nil {
		ss.inFlight = make(map[string]*running)
	}
	ss.inFlight[string(id)] = c
	return true
}

func (ss *session) finish(id []byte) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.inFlight, string(id))
}

// notified handles a notification from the client.
func (ss *session) notified(m *jsonrpc.Message) {
	if m.Method == mcp.NotificationCancelled {
		ss.cancelled(jsonrpc.Get(m.Params, "requestId"))
	}
	ss.handler.HandleNotification(ss.ctx, ss, &jsonrpc.Notification{Method: m.Method, Params: m.Params})
}

// cancelled cancels the request with that id, if there is one.
func (ss *session) cancelled(id []byte) {
	ss.mu.Lock()
	c := ss.inFlight[string(id)]
	ss.mu.Unlock()
	if c != nil && c.method != mcp.MethodInitialize {
		c.cancel(jsonrpc.ErrCancelled)
	}
}

func (ss *session) countStreams(n int) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.streams += n
}
