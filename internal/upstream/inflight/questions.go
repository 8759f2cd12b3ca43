package inflight

import (
	"context"
	"sync"
	"sync/atomic"
)

// openQuestions are the questions that wait because of one call. They end with
// it: nobody is there for an answer afterwards.
type openQuestions struct {
	// Most calls ask nothing, and their end costs two loads.
	asked, over atomic.Bool
	mu          sync.Mutex
	cancels     map[*context.CancelCauseFunc]struct{}
}

// during is a context of a question; stop forgets it.
func (o *openQuestions) during(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	o.mu.Lock()
	if o.cancels == nil {
		o.cancels = make(map[*context.CancelCauseFunc]struct{})
	}
	o.cancels[&cancel] = struct{}{}
	o.mu.Unlock()
	o.asked.Store(true)
	if o.over.Load() {
		cancel(errCallOver)
	}
	return ctx, func() {
		o.mu.Lock()
		delete(o.cancels, &cancel)
		o.mu.Unlock()
		cancel(nil)
	}
}

// end ends them all.
func (o *openQuestions) end() {
	o.over.Store(true)
	if !o.asked.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for cancel := range o.cancels {
		(*cancel)(errCallOver)
	}
}
