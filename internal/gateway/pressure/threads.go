package pressure

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// narrowFor is the number of measurements in a row with little to do side by
	// side before Go code runs on one thread.
	narrowFor = 5
	// singleFor is the time after the last call to a process until Go code runs on
	// all threads again, because other requests are not measured.
	singleFor = 5 * time.Second
	// largeMessage is the size from which reading one message takes so long that
	// a second thread can read the next meanwhile.
	largeMessage = 4 << 10
)

// threads lets Go code run on one thread while a second one would find no work.
// When a goroutine passes work on, the runtime wakes another thread in case it can
// help. If it cannot, waking it takes up to a third of the processor time of a
// small call.
type threads struct {
	running atomic.Int64
	narrow  atomic.Int64 // calls since the last measurement that one thread is enough for
	wide    atomic.Int64 // all others
	own     atomic.Int64 // calls of the single client of this gateway

	single bool                 // Go code runs on one thread
	used   func() time.Duration // processor time of this process
	spent  time.Duration        // used at the last measurement
	at     time.Time
	streak int
	end    *time.Timer // restores the usual number
}

// A Span is a running call to a server.
type Span struct {
	gauge *Gauge
	// alone is set if no other call ran when this one began.
	alone bool
}

// Begin notes that a call to a server begins.
func (p *Gauge) Begin() Span {
	return Span{p, p.threads.running.Add(1) == 1}
}

// End notes the end of a call. process is set if its server is a process of this
// gateway, oneClient if the gateway has a single client, whose calls arrive on
// one stream; size is the size of the call and its result.
func (s Span) End(process, oneClient bool, size int) {
	t := &s.gauge.threads
	t.running.Add(-1)
	if oneClient {
		t.own.Add(1)
	}
	if process && (s.alone || oneClient && size < largeMessage) {
		t.narrow.Add(1)
	} else {
		t.wide.Add(1)
	}
}

// adjust chooses the number of threads from the calls since the last
// measurement. It reports whether the number is not the usual one.
func (t *threads) adjust(now time.Time) bool {
	narrow, wide, own := t.narrow.Swap(0), t.wide.Swap(0), t.own.Swap(0)
	// Elsewhere the standard streams may block the thread that reads them.
	if runtime.GOOS != "linux" || os.Getenv("GOMAXPROCS") != "" {
		return false // or the user decides
	}
	used := t.used()
	// One thread that is always busy may keep other clients waiting.
	busy := own == 0 && used-t.spent > now.Sub(t.at)*9/10
	t.spent, t.at = used, now
	switch {
	case wide > 0 || busy:
		t.reset()
	case narrow > 0:
		if t.streak++; t.streak >= narrowFor && !t.single {
			t.single = true
			runtime.GOMAXPROCS(1)
		}
	}
	return t.single
}

// reset restores the usual number of threads.
func (t *threads) reset() {
	t.streak = 0
	if t.single {
		t.single = false
		runtime.SetDefaultGOMAXPROCS()
	}
}

// resetLater restores the usual number of threads unless calls go on.
func (p *Gauge) resetLater() {
	t := &p.threads
	if t.end == nil {
		t.end = time.AfterFunc(singleFor, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.reset()
		})
		return
	}
	t.end.Reset(singleFor)
}
