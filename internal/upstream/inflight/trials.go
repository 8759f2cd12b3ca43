package inflight

import (
	"context"
	"sync"
	"time"
)

// trialTime is how long other clients wait while a client calls new tools. A tool
// that asks does so at its start, in most cases.
const trialTime = time.Second

// Trials lets clients that share a pipe take turns with tools that have not run
// yet. If two of them asked at once, neither question could be assigned to its
// client. So the first question comes while the calls of one client are in
// flight, and from then on each client has its own connection. A tool that has
// run once does not wait again.
type Trials struct {
	mu    sync.Mutex
	asked bool            // the server has asked, so there are no more turns
	ran   map[string]bool // by the name of the tool
	turn  *turn           // nil between the turns
}

// A turn is the time in which one client calls new tools.
type turn struct {
	client any
	calls  int           // in flight
	until  time.Time     // others wait no longer
	over   chan struct{} // closed when the turn ends earlier
}

// Enter waits until the client may call a tool: until its turn begins, or the
// current turn has lasted trialTime. end must be called after the call, unless it
// is nil. Enter returns an error if ctx ends first.
func (t *Trials) Enter(ctx context.Context, client any, tool string) (end func(), err error) {
	var late <-chan time.Time
	for {
		mine, theirs := t.begin(client, tool)
		switch {
		case mine != nil:
			return func() { t.end(mine, tool) }, nil
		case theirs == nil:
			return nil, nil
		case late == nil:
			late = time.After(time.Until(theirs.until))
		}
		select {
		case <-theirs.over:
		case <-late:
			return func() { t.end(nil, tool) }, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin returns the turn of the client, or the turn to wait for; neither if the
// tool may be called at any time.
func (t *Trials) begin(client any, tool string) (mine, theirs *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asked || t.ran[tool] {
		return nil, nil
	}
	if t.turn == nil || !time.Now().Before(t.turn.until) {
		t.turn = &turn{client: client, until: time.Now().Add(trialTime), over: make(chan struct{})}
	}
	if t.turn.client != client {
		return nil, t.turn
	}
	t.turn.calls++
	return t.turn, nil
}

// end ends the call of a tool in a turn; nil if it was called without a turn.
func (t *Trials) end(mine *turn, tool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ran == nil {
		t.ran = make(map[string]bool)
	}
	t.ran[tool] = true
	if mine == nil {
		return
	}
	if mine.calls--; mine.calls == 0 && mine == t.turn {
		t.closeLocked()
	}
}

// Asked ends all turns for good, because the server has asked a question.
func (t *Trials) Asked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = true
	t.closeLocked()
}

func (t *Trials) closeLocked() {
	if t.turn != nil {
		close(t.turn.over)
		t.turn = nil
	}
}
