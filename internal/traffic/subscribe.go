package traffic

import (
	"slices"
)

// maxBatch limits the size of a Batch.
const maxBatch = 500

// A Batch holds the changes since the previous one.
type Batch struct {
	// Rev is the revision to resume from.
	Rev uint64
	// Reset says that changes were lost. The subscriber must read everything
	// again with List.
	Reset bool
	Calls []Call
	Lines []Line
}

// A Subscription follows the changes of a Recorder. It has no buffer of its own:
// a slow reader gets a Reset and continues from the present.
type Subscription struct {
	r    *Recorder
	rev  uint64
	wake chan struct{}
}

// Subscribe follows the changes after the revision from; Rev() means from now on.
func (r *Recorder) Subscribe(from uint64) *Subscription {
	s := &Subscription{r: r, rev: from, wake: make(chan struct{}, 1)}
	s.wake <- struct{}{}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs[s] = struct{}{}
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	delete(s.r.subs, s)
}

// C returns a channel that is ready when Take may return changes.
func (s *Subscription) C() <-chan struct{} { return s.wake }

// Take returns the changes, possibly none, without waiting.
func (s *Subscription) Take() Batch {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.rev > r.rev || r.rev-s.rev > r.revs.size {
		s.rev = r.rev
		return Batch{Rev: r.rev, Reset: true}
	}
	b := Batch{}
	seen := map[uint64]bool{}
	for s.rev < r.rev && len(b.Calls)+len(b.Lines) < maxBatch {
		s.rev++
		id, isLine := r.revs.at(s.rev).of()
		if isLine {
			if l := r.lines.at(id); l.ID == id {
				b.Lines = append(b.Lines, *l)
			}
		} else if e := r.entry(id); e != nil && !seen[id] {
			seen[id] = true
			b.Calls = append(b.Calls, r.callOf(e))
		}
	}
	if s.rev < r.rev {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
	b.Rev = s.rev
	b.Calls = slices.Clip(b.Calls)
	return b
}

// A change is twice the id of a call, or twice the id of a line plus one.
type change uint64

func (c change) of() (id uint64, isLine bool) { return uint64(c) / 2, c%2 == 1 }

func (r *record) changed(c change) {
	r.rev++
	*r.revs.at(r.rev) = c
	if len(r.subs) == 0 {
		return
	}
	for s := range r.subs {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}
