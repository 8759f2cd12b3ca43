package inflight

import (
	"context"
	"slices"
	"time"
)

// maxAbandoned limits how many abandoned calls of one connection are remembered.
const maxAbandoned = 100

// abandoned are the calls that were sent and whose clients wait for the answer no
// longer. Until the server answers one, it may ask a question because of it. A server
// that obeys the cancellation never answers, so a call is forgotten after
// limits.callTotal.
type abandoned struct {
	list    []abandonedCall
	crowded int64 // until then, calls that are not in the list may ask, in Ticks
}

type abandonedCall struct {
	id     uint64 // on the connection; 0 over HTTP, where a late answer is not seen
	client Client
	remote string
	until  int64 // in Ticks
}

// add remembers a call that may last for the given time.
func (a *abandoned) add(k *Call, lasts time.Duration) {
	until := Ticks() + int64(lasts)
	if a.any(); len(a.list) < maxAbandoned {
		a.list = append(a.list, abandonedCall{k.id.Load(), k.Client, k.Remote, until})
	} else {
		a.crowded = until
	}
}

// answered forgets a call, because the server has answered it.
func (a *abandoned) answered(id uint64) {
	a.list = slices.DeleteFunc(a.list, func(c abandonedCall) bool { return c.id == id })
}

// any forgets the calls whose time is over and reports whether others are left.
func (a *abandoned) any() bool {
	if len(a.list) == 0 && a.crowded == 0 {
		return false
	}
	now := Ticks()
	a.list = slices.DeleteFunc(a.list, func(c abandonedCall) bool { return c.until <= now })
	return len(a.list) > 0 || a.crowded > now
}

// others reports whether an abandoned call has another client than k.
func (a *abandoned) others(k *Call) bool {
	return a.any() && (a.crowded > Ticks() || slices.ContainsFunc(a.list, func(c abandonedCall) bool { return c.client != k.Client || c.remote != k.Remote }))
}

// Failed records that sending k returned an error. If the reason is that ctx ended
// or k was aborted, the server may still work on it.
func (k *Call) Failed(ctx context.Context) {
	_, hasID := k.peer.(aborter)
	sent := !hasID || k.id.Load() != 0
	k.abandoned = k.asks && sent && (ctx.Err() != nil || k.aborted.Load() != nil)
}

// AnsweredLate records that the server has answered a call after its client stopped
// waiting.
func (t *Table) AnsweredLate(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := t.first; k != nil; k = k.next {
		if k.id.Load() == id {
			k.answered = true
		}
	}
	t.abandoned.answered(id)
}
