package inflight

import (
	"context"
	"sync"
	"time"
)

// trialLimit is how long a client waits for another client's call of a new tool.
// A tool that asks does so at its start, in most cases.
const trialLimit = time.Second

// Trials lets clients that share a pipe take turns with tools that have not run
// yet. If two of them asked at once, neither question could be assigned to its
// client. So the first question comes while the calls of one client are in
// flight, and from then on each client has its own connection. A tool that has
// run once does not wait again.
type Trials struct {
	mu     sync.Mutex
	ran    map[string]bool // by the name of the tool
	client any             // the client whose turn it is
	calls  int             // its calls of new tools in flight
	over   chan struct{}   // closed at the end of the turn
}

// Enter waits until it is the client's turn to call a tool, for trialLimit at
// most. end must be called after the call.
func (t *Trials) Enter(ctx context.Context, client any, tool string) (end func()) {
	var late <-chan time.Time
	for {
		t.mu.Lock()
		if t.ran[tool] {
			t.mu.Unlock()
			return func() {}
		}
		if t.calls == 0 || t.client == client {
			if t.calls++; t.calls == 1 {
				t.client, t.over = client, make(chan struct{})
			}
			over := t.over
			t.mu.Unlock()
			return func() { t.leave(tool, over) }
		}
		over := t.over
		t.mu.Unlock()
		if late == nil {
			timer := time.NewTimer(trialLimit)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-over:
		case <-late:
			return func() {}
		case <-ctx.Done():
			return func() {}
		}
	}
}

// leave ends the call of a tool in the turn that over belongs to.
func (t *Trials) leave(tool string, over chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ran == nil {
		t.ran = make(map[string]bool)
	}
	t.ran[tool] = true
	if t.over != over || t.calls == 0 {
		return // a question has ended the turn
	}
	if t.calls--; t.calls == 0 {
		close(over)
	}
}

// Asked ends the turn, because the server has asked a question.
func (t *Trials) Asked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls > 0 {
		t.calls = 0
		close(t.over)
	}
}
