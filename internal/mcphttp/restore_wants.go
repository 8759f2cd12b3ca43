package mcphttp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Wants are the notifications that the client of a session has subscribed to.
// Another replica that restores the session subscribes again.
type Wants struct {
	Turn  uint64   `json:"turn"`            // counts the changes
	Level string   `json:"level,omitempty"` // of logging/setLevel
	URIs  []string `json:"uris,omitempty"`  // of resources/subscribe
	Bound bool     `json:"bound,omitempty"` // the session must not be restored: see Start, or it has ended
}

// maxWants bounds the total size of the URIs of one session in bytes. A client
// that subscribes to more has to do so again after its replica was lost.
const maxWants = 16 << 10

// size returns the size of the texts.
func (w Wants) size() int {
	n := len(w.Level)
	for _, uri := range w.URIs {
		n += len(uri)
	}
	return n
}

// after returns what the client wants after a request that succeeded. It changes
// nothing that w shares with others.
func (w Wants) after(m *jsonrpc.Message) (Wants, bool) {
	uri, _ := jsonrpc.GetString(m.Params, "uri")
	at := slices.Index(w.URIs, uri)
	switch m.Method {
	case mcp.MethodSetLevel:
		level, _ := jsonrpc.GetString(m.Params, "level")
		if len(level) > len("emergency") {
			return w, false
		}
		w.Level = strings.Clone(level)
	case mcp.MethodSubscribe:
		if at >= 0 || w.size()+len(uri) > maxWants {
			return w, false
		}
		w.URIs = append(slices.Clone(w.URIs), strings.Clone(uri))
	case mcp.MethodUnsubscribe:
		if at < 0 {
			return w, false
		}
		w.URIs = slices.Delete(slices.Clone(w.URIs), at, at+1)
	default:
		return w, false
	}
	w.Turn++
	return w, true
}

// remember keeps what a request that succeeded asked to be notified of, for the
// replica that may have to restore the session. It also keeps that a request, which
// may have failed, made that impossible.
func (ss *session) remember(m *jsonrpc.Message, resp *jsonrpc.Response) {
	keep := ss.srv.keep
	if keep == nil || ss.transport != TransportSession {
		return
	}
	h, _ := ss.handler.(interface{ Alone() bool })
	bound := h != nil && h.Alone()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	w, changed := ss.wants, false
	if resp != nil && resp.Err == nil {
		w, changed = w.after(m)
	}
	if bound && !w.Bound {
		w.Bound, changed = true, true
		w.Turn++
	}
	if changed {
		ss.wants = w
		keep(ss.id, w)
	}
}

// final tells the other replicas that the client has ended the session, so that none
// of them restores it.
func (ss *session) final() {
	keep := ss.srv.keep
	if keep == nil || ss.transport != TransportSession {
		return
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.wants = Wants{Turn: ss.wants.Turn + 1, Bound: true}
	keep(ss.id, ss.wants)
}

// quit ends the session as its client asked.
func (ss *session) quit() {
	ss.final()
	ss.end()
}

// repeatWait bounds how long the first request of a restored session waits until
// the client's subscriptions are made again.
const repeatWait = time.Second

// repeat asks again for what the client of a restored session wanted.
func (ss *session) repeat(w Wants) {
	ss.wants = w
	var all sync.WaitGroup
	if w.Level != "" {
		all.Go(func() { ss.want(mcp.MethodSetLevel, "level", w.Level) })
	}
	for _, uri := range w.URIs {
		all.Go(func() {
			if ss.want(mcp.MethodSubscribe, "uri", uri) { // it may have changed in the meantime
				ss.Notify(ss.ctx, &jsonrpc.Notification{Method: mcp.NotificationUpdated, Params: object("uri", uri)})
			}
		})
	}
	ctx, cancel := context.WithTimeout(ss.ctx, repeatWait)
	go func() { all.Wait(); cancel() }()
	<-ctx.Done()
}

// want runs a request that a client sent to another replica before.
func (ss *session) want(method, member, value string) bool {
	if !ss.enter() {
		return false
	}
	defer ss.leave()
	select {
	case ss.slots <- struct{}{}:
		defer func() { <-ss.slots }()
	case <-ss.ctx.Done():
		return false
	}
	m := &jsonrpc.Message{Method: method, Params: object(member, value)}
	resp := run(ss.ctx, ss.srv.log, ss.handler, ss, m)
	defer resp.Release()
	if resp == nil || resp.Err != nil {
		ss.srv.log.Warn("a restored session could not ask again for what its client wanted", "session", ss.ref(), "method", method)
		return false
	}
	return true
}

// object returns a JSON object with one text.
func object(member, value string) []byte {
	return jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(value), member)
}
