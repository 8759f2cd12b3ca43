// Package pressure measures memory and load, so that work is refused before
// memory runs out, and the runtime collects garbage and wakes threads no more
// often than necessary.
package pressure

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// The shares of memory, in per cent, above which something is dropped or refused.
const (
	dropCachesAt     = 80
	RefuseSessionsAt = 90
	RefuseCallsAt    = 95
)

const (
	measureEvery = 100 * time.Millisecond
	collectEvery = 2 * time.Second
	// quietAfter is the time without calls after which memory above quietAbove
	// is returned to the system. Without calls no garbage collection would run.
	quietAfter = 20 * time.Second
	quietAbove = 32 << 20
)

// A Gauge measures only when Level is called, so an idle gateway pays nothing.
type Gauge struct {
	configured func() int64 // configured limit in bytes; 0 for natural
	natural    uint64       // limit of the container or machine; 0 for none
	drop       func()       // drops caches
	used       func() uint64

	next    atomic.Int64 // time of the next measurement, in nanoseconds since start
	percent atomic.Int64
	mu      sync.Mutex
	swept   time.Time
	quiet   *time.Timer
	garbage collector
	threads threads
}

// New returns a gauge. configured returns the limit in bytes, 0 for the limit of
// the container or machine. drop drops caches.
func New(configured func() int64, drop func()) *Gauge {
	return &Gauge{configured: configured, natural: memoryLimit(), drop: drop, used: memoryInUse, garbage: collector{read: collections}, threads: threads{used: processorTime}}
}

// memoryLimit returns the limit if none is configured: GOMEMLIMIT, else the
// limit of the container, else half of the machine's memory.
func memoryLimit() uint64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return uint64(limit)
	}
	if limit := containerMemory(); limit > 0 {
		return limit
	}
	return machineMemory() / 2
}

// start is the origin of timestamps. They are monotonic, because the wall clock
// may be set.
var start = time.Now()

// memoryInUse returns the memory that the process holds.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// Level returns the share of the limit that is in use, in per cent.
func (p *Gauge) Level() int64 {
	return p.levelAt(start.Add(time.Since(start))) // Since reads one clock, Now reads two
}

func (p *Gauge) levelAt(now time.Time) int64 {
	if int64(now.Sub(start)) >= p.next.Load() && p.mu.TryLock() {
		defer p.mu.Unlock()
		p.measure(now)
	}
	return p.percent.Load()
}

func (p *Gauge) measure(now time.Time) {
	p.next.Store(int64(now.Add(measureEvery).Sub(start)))
	used := p.used()
	if p.garbage.adjust(now) || used > quietAbove {
		p.rest()
	}
	if p.threads.adjust(now) {
		p.resetLater()
	}
	limit := p.natural
	if c := p.configured(); c > 0 {
		limit = uint64(c)
	}
	if limit == 0 {
		return
	}
	percent := int64(used * 100 / limit)
	if percent >= dropCachesAt && now.Sub(p.swept) > collectEvery {
		// The memory may be garbage that was not collected yet.
		p.swept = now
		p.drop()
		giveBack()
		percent = int64(p.used() * 100 / limit)
	}
	p.percent.Store(percent)
}

// rest returns memory to the system after a time without calls.
func (p *Gauge) rest() {
	if p.quiet == nil {
		p.quiet = time.AfterFunc(quietAfter, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.garbage.reset()
			giveBack()
		})
		return
	}
	p.quiet.Reset(quietAfter)
}

// giveBack returns unused memory to the system. Buffers in a sync.Pool survive
// one collection, so it collects twice; large answers leave most memory there.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// Stop stops the timer of rest.
func (p *Gauge) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.garbage.reset()
	p.threads.reset()
	if p.threads.end != nil {
		p.threads.end.Stop()
	}
	if p.quiet != nil {
		p.quiet.Stop()
	}
}
