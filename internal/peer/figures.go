package peer

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the histogram in Figures.Within.
var Bounds = []time.Duration{
	250 * time.Microsecond, time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond, 64 * time.Millisecond,
	256 * time.Millisecond, time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second,
}

// Figures are the counters of a replica since its start.
type Figures struct {
	Forwards map[string]int64 // requests that another replica answered, by its name
	Count    int64            // total of Forwards
	Sum      time.Duration    // total time until the responses began
	Within   []int64          // how many took at most each of Bounds
	Restored int64            // sessions of lost replicas that were restored here
	Lost     int64            // calls whose replica was lost while they ran
}

// A Counter counts what Figures reports.
type Counter struct {
	restored, gone atomic.Int64

	mu     sync.Mutex
	by     map[string]int64
	count  int64
	sum    time.Duration
	within [10]int64
}

// forwarded counts a request that another replica answered after the given time.
func (f *Counter) forwarded(node string, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = make(map[string]int64)
	}
	f.by[node]++
	f.count++
	f.sum += took
	for i, bound := range Bounds {
		if took <= bound {
			f.within[i]++
		}
	}
}

// Figures returns the current counters.
func (f *Counter) Figures() Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	within := f.within
	return Figures{Forwards: maps.Clone(f.by), Count: f.count, Sum: f.sum, Within: within[:], Restored: f.restored.Load(), Lost: f.gone.Load()}
}
