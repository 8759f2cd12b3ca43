package mcphttp

import (
	"context"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcphttp/sse"
)

var (
	errCutOff    = i18n.Errorf("the client does not read its stream", "客户端没有读取其流")
	errTakenOver = i18n.Errorf("the stream continues on another connection", "流已转到另一连接")
	errExpired   = i18n.Errorf("the credential of the stream has expired", "流的凭据已过期")
	errLeft      = i18n.Errorf("the client disconnected", "客户端已断开连接")
)

// A stream is one sequence of messages to a client. If its journal keeps frames, it
// outlives its connection.
type stream struct {
	j      *journal
	id     string  // "" if it cannot be resumed
	source *outbox // queue of a stream outside calls
	wake   chan struct{}

	// Guarded by j.mu.
	next   uint64  // number of the next frame
	frames []frame // kept ones first
	sent   int     // frames[:sent] have been written to the owner
	fresh  int     // frames that are not kept, and their bytes
	unkept int
	ended  bool  // no more messages follow
	owner  *sink // the connection that carries the stream now
}

// append adds a message and reports whether a client may still read it.
func (st *stream) append(msg []byte, lim *ServerLimits) bool {
	st.j.mu.Lock()
	defer st.j.mu.Unlock()
	return st.appendLocked(msg, lim)
}

func (st *stream) appendLocked(msg []byte, lim *ServerLimits) bool {
	if st.ended || (st.owner == nil && st.j.budget == 0) {
		return false
	}
	f := frame{seq: st.next, data: msg}
	if st.owner != nil {
		f.unread = lim.unread(st.owner.who, len(msg))
	}
	st.frames = append(st.frames, f)
	st.next++
	st.fresh++
	st.unkept += len(msg)
	if st.owner == nil {
		st.keepAllLocked()
		return true
	}
	if limit := overQueue(st.fresh, st.unkept-len(msg), lim); limit != "" {
		lim.Hits.Add(limit)
		st.owner.cut(errCutOff)
		st.owner = nil
		st.keepAllLocked()
		return st.j.budget > 0
	}
	signal(st.wake)
	return true
}

// overQueue returns the name of the limit that the queue exceeds, "" if none.
func overQueue(messages, bytes int, lim *ServerLimits) string {
	switch {
	case messages > lim.QueueMessages:
		return "outboundMessages"
	case bytes > lim.QueueBytes:
		return "outboundBytes"
	}
	return ""
}

// passLocked ends the wait of a frame: it is on its way to the client, kept or dropped.
func (st *stream) passLocked(f *frame) {
	st.fresh--
	st.unkept -= len(f.data)
	f.unread.Done()
	f.unread = nil
}

// keepAllLocked moves all frames to the journal for a later connection.
func (st *stream) keepAllLocked() {
	if st.j.budget == 0 {
		for i := range st.frames {
			st.passLocked(&st.frames[i])
		}
		st.frames, st.sent = nil, 0
		return
	}
	now := time.Now()
	for i := range st.frames {
		st.j.keepLocked(st, &st.frames[i], now)
	}
	st.j.trimLocked(now)
}

// finish marks the end of the stream.
func (st *stream) finish() {
	st.j.mu.Lock()
	st.ended = true
	st.j.forgetLocked(st)
	st.j.mu.Unlock()
	signal(st.wake)
}

func (st *stream) attach(k *sink) {
	st.j.mu.Lock()
	st.attachLocked(k)
	st.j.mu.Unlock()
}

func (st *stream) attachLocked(k *sink) {
	if st.owner != nil {
		st.owner.cut(errTakenOver)
	}
	st.owner = k
}

// detach ends the use of the stream by k. The frames that k did not write stay in
// the journal for another connection.
func (st *stream) detach(k *sink) {
	st.j.mu.Lock()
	if st.owner == k {
		st.owner = nil
		st.keepAllLocked()
		st.j.forgetLocked(st)
	}
	st.j.mu.Unlock()
	if st.source != nil {
		st.source.nudge()
	}
}

// take appends the next messages for k to dst. done means that no more messages
// follow for k.
func (st *stream) take(k *sink, dst []byte, lim *ServerLimits) (out []byte, done bool) {
	st.j.mu.Lock()
	defer st.j.mu.Unlock()
	if st.owner != k {
		return dst, true
	}
	if st.source != nil && st.sent == len(st.frames) {
		if msg := st.source.pop(); msg != nil {
			st.appendLocked(msg, lim)
		}
	}
	first := st.sent
	for st.sent < len(st.frames) && (st.sent == first || len(dst) < writeStep) {
		f := &st.frames[st.sent]
		dst = sse.AppendEvent(dst, st.id, f.seq, f.data)
		st.sent++
	}
	if st.sent == first {
		return dst, st.ended
	}
	st.settleLocked(first)
	return dst, false
}

// settleLocked moves the frames between first and sent to the journal.
func (st *stream) settleLocked(first int) {
	if st.j.budget == 0 {
		for i := range st.frames[:st.sent] {
			st.passLocked(&st.frames[i])
			st.frames[i] = frame{}
		}
		st.frames = st.frames[st.sent:]
		st.sent = 0
		if len(st.frames) == 0 {
			st.frames = nil
		}
		return
	}
	now := time.Now()
	for i := first; i < st.sent; i++ {
		st.j.keepLocked(st, &st.frames[i], now)
	}
	st.j.trimLocked(now)
}

// pump writes the stream to k until the stream ends, k fails, or the session ends.
// If stop is closed, it writes the queued messages and returns.
func (st *stream) pump(k *sink, session context.Context, stop <-chan struct{}) error {
	defer st.detach(k)
	timer := time.NewTimer(k.untilKeepAlive())
	defer timer.Stop()
	var more <-chan struct{}
	if st.source != nil {
		more = st.source.wake
	}
	for {
		done, err := k.writeFrom(st)
		if done || err != nil {
			return err
		}
		select {
		case <-st.wake:
		case <-more:
		case <-timer.C:
			if err := k.write(sse.KeepAlive); err != nil {
				return err
			}
			timer.Reset(k.untilKeepAlive())
		case <-k.left:
			return errLeft
		case <-session.Done():
			return context.Cause(session)
		case <-stop:
			_, err := k.writeFrom(st)
			return err
		case <-k.gone:
			return k.why
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
