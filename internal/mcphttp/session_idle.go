package mcphttp

import (
	"time"

	"mcp-all-in-one/internal/i18n"
)

var errIdle = i18n.Errorf("the session was idle for too long", "会话空闲时间过长")

// watch starts the idle timer of a session that has just entered the table. It is
// one entry in the runtime's timer heap, not a goroutine.
func (ss *session) watch() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if !ss.closed {
		ss.timer = time.AfterFunc(ss.srv.lim.SessionIdle, ss.tick)
	}
}

// soon makes the timer fire in time to purge the journal.
func (ss *session) soon() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.timer != nil && !ss.closed {
		ss.timer.Reset(min(ss.srv.lim.ReplayFor, ss.srv.lim.SessionIdle))
	}
}

// tick ends an idle session and purges the journal.
func (ss *session) tick() {
	now := time.Now()
	keeps := ss.journal.purge(now)
	ss.mu.Lock()
	if ss.closed {
		ss.mu.Unlock()
		return
	}
	rest := ss.srv.lim.SessionIdle
	if ss.busy == 0 {
		rest -= now.Sub(ss.opened) - ss.lastUsed
	}
	if rest > 0 {
		if keeps {
			rest = min(rest, ss.srv.lim.ReplayFor)
		}
		ss.timer.Reset(rest)
		ss.mu.Unlock()
		return
	}
	ss.mu.Unlock()
	ss.srv.lim.Hits.Add("sessionIdle")
	ss.close(errIdle)
}
