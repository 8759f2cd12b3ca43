package enginetest

import (
	"context"
	"sync"
)

// A queue passes elements to one function, one at a time.
type queue[T any] struct {
	mu   sync.Mutex
	list []T
	more chan struct{} // has one element if the list may have one
}

func (q *queue[T]) wake() chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.more == nil {
		q.more = make(chan struct{}, 1)
	}
	return q.more
}

func (q *queue[T]) add(one T) {
	more := q.wake()
	q.mu.Lock()
	q.list = append(q.list, one)
	q.mu.Unlock()
	select {
	case more <- struct{}{}:
	default:
	}
}

func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

// serve calls take for each added element until ctx ends, and then done.
func (q *queue[T]) serve(ctx context.Context, take func(T), done func()) {
	more := q.wake()
	go func() {
		defer done()
		for {
			select {
			case <-ctx.Done():
				return
			case <-more:
			}
			for _, one := range q.take() {
				if ctx.Err() != nil {
					return
				}
				take(one)
			}
		}
	}()
}
