package inbox

import (
	"slices"
	"time"

	"mcp-all-in-one/internal/access"
)

// maxDone is how many ended questions are kept, maxDoneBytes the size up to
// which their params and code are kept.
const (
	maxDone      = 100
	maxDoneBytes = 16 << 10
)

// A Done is a question that no longer waits. The content of the answer is not
// kept: it may be a secret.
type Done struct {
	Question
	// Outcome is the action of the answer; late if the time for an answer was
	// over; ended if the call or its server ended first.
	Outcome string `json:"outcome"`
	// By is the principal who answered.
	By    string    `json:"by,omitempty"`
	Ended time.Time `json:"ended"`
}

// end records how a question ended.
func (b *Inbox) end(w *waiting, outcome, by string) {
	d := Done{Question: w.Question, Outcome: outcome, By: by, Ended: time.Now()}
	d.Apply = nil
	d.Params = slices.Clone(d.Params) // it belongs to the request, which ends soon
	if len(d.Params)+len(d.Code) > maxDoneBytes {
		d.Params, d.Code = []byte("null"), ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.done) == maxDone {
		b.done = slices.Delete(b.done, 0, 1)
	}
	b.done = append(b.done, d)
}

// Done returns the last questions that a principal saw and that ended, newest
// first.
func (b *Inbox) Done(who access.Principal) []Done {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Done{}
	for _, d := range slices.Backward(b.done) {
		if d.shownTo(who) {
			out = append(out, d)
		}
	}
	return out
}
