// Package pressure measures how much of the memory is in use, so that work is
// refused before it runs out.
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

// From which share of the memory on what is given up, in per cent.
const (
	dropCachesAt     = 80
	RefuseSessionsAt = 90
	RefuseCallsAt    = 95
)

const (
	measureEvery = 100 * time.Millisecond
	collectEvery = 2 * time.Second
	// quietAfter is how long nothing must be called until memory above
	// quietAbove is given back: nothing would be collected otherwise.
	quietAfter = 20 * time.Second
	quietAbove = 32 << 20
)

// A Gauge measures when somebody asks, so it costs nothing while nobody does.
type Gauge struct {
	configured func() int64 // bytes that count as full; 0 finds out
	natural    uint64       // what there is otherwise; 0 for no limit
	drop       func()       // gives up what can be made again
	used       func() uint64

	next    atomic.Int64 // when to measure again, in nanoseconds since begun
	percent atomic.Int64
	mu      sync.Mutex
	swept   time.Time
	quiet   *time.Timer
}

// New makes a gauge. configured are the bytes that count as full, 0 for what
// there is; drop gives up what can be made again.
func New(configured func() int64, drop func()) *Gauge {
	return &Gauge{configured: configured, natural: memoryLimit(), drop: drop, used: memoryInUse}
}

// memoryLimit is what counts as full where the configuration does not say:
// GOMEMLIMIT, else the limit of the container, else half of the machine.
func memoryLimit() uint64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return uint64(limit)
	}
	if limit := containerMemory(); limit > 0 {
		return limit
	}
	return machineMemory() / 2
}

// begun is what moments are counted from: the time of day may be set.
var begun = time.Now()

// memoryInUse is what the process holds of the system's memory.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// Level is the share of the memory that is in use, in per cent.
func (p *Gauge) Level() int64 { return p.levelAt(time.Now()) }

func (p *Gauge) levelAt(now time.Time) int64 {
	if int64(now.Sub(begun)) >= p.next.Load() && p.mu.TryLock() {
		defer p.mu.Unlock()
		p.measure(now)
	}
	return p.percent.Load()
}

func (p *Gauge) measure(now time.Time) {
	p.next.Store(int64(now.Add(measureEvery).Sub(begun)))
	used := p.used()
	if used > quietAbove {
		p.rest()
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
		// What is in use may be waste that was not collected yet.
		p.swept = now
		p.drop()
		giveBack()
		percent = int64(p.used() * 100 / limit)
	}
	p.percent.Store(percent)
}

// rest gives memory back once nothing has been called for a while.
func (p *Gauge) rest() {
	if p.quiet == nil {
		p.quiet = time.AfterFunc(quietAfter, giveBack)
		return
	}
	p.quiet.Reset(quietAfter)
}

// giveBack returns what is not used to the system. What is in a pool outlives
// one collection, so there are two; large answers leave most of it there.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}

// Stop keeps the timer of rest from outliving the gateway.
func (p *Gauge) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quiet != nil {
		p.quiet.Stop()
	}
}
