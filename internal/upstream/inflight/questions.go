package inflight

import (
	"context"
	"sync"
	"sync/atomic"
)

// A question is pending because of one call, or of one of several calls if the
// transport cannot tell which. It is canceled after the last of these calls has
// ended, because nothing would use the answer.
type question struct {
	cancel context.CancelCauseFunc
	calls  atomic.Int32
}

// callOver records that one of the calls has ended.
func (q *question) callOver() {
	if q.calls.Add(-1) == 0 {
		q.cancel(errCallOver)
	}
}

// wait returns the context of a question that may be about any of the calls. stop
// must be called after the question is answered.
func wait(ctx context.Context, calls ...*Call) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	q := &question{cancel: cancel}
	q.calls.Store(int32(len(calls)))
	for _, k := range calls {
		k.open.add(q)
	}
	return ctx, func() {
		for _, k := range calls {
			k.open.remove(q)
		}
		cancel(nil)
	}
}

// openQuestions holds the pending questions of one call.
type openQuestions struct {
	// Most calls have no questions; their end costs only two atomic operations.
	asked, over atomic.Bool
	mu          sync.Mutex
	waiting     map[*question]struct{}
}

func (o *openQuestions) add(q *question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked.Store(true)
	if o.over.Load() {
		q.callOver()
		return
	}
	if o.waiting == nil {
		o.waiting = make(map[*question]struct{})
	}
	o.waiting[q] = struct{}{}
}

func (o *openQuestions) remove(q *question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, q)
}

// end tells all pending questions that the call has ended.
func (o *openQuestions) end() {
	o.over.Store(true)
	if !o.asked.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for q := range o.waiting {
		q.callOver()
	}
	clear(o.waiting)
}
