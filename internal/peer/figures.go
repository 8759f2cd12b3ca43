package peer

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the times of Figures.
var Bounds = []time.Duration{
	250 * time.Microsecond, time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond, 64 * time.Millisecond,
	256 * time.Millisecond, time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second,
}

// Figures are what a replica has counted since its start.
type Figures struct {
	Forwards map[string]int64 // requests that another replica answered, by its name
	Count    int64            // of all of them
	Sum      time.Duration    // until their answers began
	Within   []int64          // how many took no longer than each of Bounds
	Restored int64            // sessions of lost replicas that began again here
	Lost     int64            // calls whose replica was lost while they ran
}

// A Counter makes Figures.
type Counter struct {
	restored, gone atomic.Int64

	mu     sync.Mutex
	by     map[string]int64
	count  int64
	sum    time.Duration
	within [10]int64
}

// forwarded counts a request that a replica answered after some time.
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

// Figures are what was counted so far.
func (f *Counter) Figures() Figures {
	f.mu.Lock()
	defer f.mu.Unlock()
	within := f.within
	return Figures{Forwards: maps.Clone(f.by), Count: f.count, Sum: f.sum, Within: within[:], Restored: f.restored.Load(), Lost: f.gone.Load()}
}
