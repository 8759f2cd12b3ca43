package inflight

import (
	"context"
	"sync"
	"sync/atomic"
)

// A question waits because of one call, or of one of several where nobody can
// tell which. It ends with the last of them: nobody is there for an answer
// afterwards.
type question struct {
	cancel context.CancelCauseFunc
	calls  atomic.Int32
}

// callOver hears that one of its calls has ended.
func (q *question) callOver() {
	if q.calls.Add(-1) == 0 {
		q.cancel(errCallOver)
	}
}

// wait is the context of a question that may be about any of the calls; stop
// forgets it.
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

// openQuestions are the questions that wait because of one call.
type openQuestions struct {
	// Most calls ask nothing, and their end costs two loads.
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

// end tells them all that the call has ended.
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
