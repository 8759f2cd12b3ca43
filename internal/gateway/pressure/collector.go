package pressure

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// often is how many collections between two measurements are too many.
	often = 4
	// room is how much is allocated between two collections under load. With
	// little in use the runtime collects when the heap has grown to usualHeap.
	room      = 12 << 20
	usualHeap = 4 << 20
)

// A collector lets the garbage collector run less often under load. A gateway
// keeps so little in use that the runtime would collect up to a hundred times a
// second, which takes a sixth of the processor time of small calls.
type collector struct {
	read     func() (cycles, live uint64)
	measured time.Time
	cycles   uint64
	usual    int // the runtime's own setting in per cent; 0 if it is in force
}

// adjust measures how often collections ran. It reports whether the setting is
// not the usual one.
func (c *collector) adjust(now time.Time) bool {
	if os.Getenv("GOGC") != "" {
		return false // the user decides
	}
	cycles, live := c.read()
	ran, recent := cycles-c.cycles, now.Sub(c.measured) < 2*measureEvery
	c.cycles, c.measured = cycles, now
	if !recent || ran < often && c.usual == 0 {
		return c.usual != 0
	}
	percent := max(100, int(100*room/max(live, usualHeap)))
	if before := debug.SetGCPercent(percent); c.usual == 0 {
		c.usual = before
	}
	return true
}

// reset restores the usual setting.
func (c *collector) reset() {
	if c.usual != 0 {
		debug.SetGCPercent(c.usual)
		c.usual = 0
	}
}

// collections returns how many collections ran, and how many bytes the last one
// found in use.
func collections() (cycles, live uint64) {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
