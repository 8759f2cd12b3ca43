package pressure

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollector checks that collections run less often under load if little is
// in use, as often as usual if much is, and that Stop restores the setting.
func TestCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	t.Setenv("GOGC", "")
	cycles, live, now := uint64(100), uint64(1<<20), time.Now()
	p := New(func() int64 { return 1 << 40 }, func() {})
	p.garbage.read = func() (uint64, uint64) { return cycles, live }
	for _, step := range []struct {
		why     string
		ran     uint64
		live    uint64
		after   time.Duration
		percent int
	}{
		{"before any load", 50, 1 << 20, measureEvery, 100},
		{"with few collections", 3, 1 << 20, measureEvery, 100},
		{"under load", 8, 1 << 20, measureEvery, 300},
		{"with fewer collections for that reason", 2, 2 << 20, measureEvery, 300},
		{"with 5 MB in use", 2, 5 << 20, measureEvery, 240},
		{"with 50 MB in use", 2, 50 << 20, measureEvery, 100},
		{"with little in use again", 2, 1 << 20, measureEvery, 300},
	} {
		cycles, live, now = cycles+step.ran, step.live, now.Add(step.after)
		p.levelAt(now)
		if got := setting(); got != step.percent {
			t.Errorf("%d %% %s, want %d", got, step.why, step.percent)
		}
	}
	p.Stop()
	if got := setting(); got != 100 {
		t.Errorf("%d %% afterwards", got)
	}
	cycles, now = cycles+1000, now.Add(time.Hour)
	if p.levelAt(now); setting() != 100 {
		t.Error("the collections of an hour count as load")
	}
	t.Setenv("GOGC", "50")
	cycles, now = cycles+1000, now.Add(measureEvery)
	if p.levelAt(now); setting() != 100 {
		t.Error("what the user set is changed")
	}
}

func setting() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}

func TestCollections(t *testing.T) {
	before, _ := collections()
	runtime.GC()
	if after, live := collections(); after <= before || live == 0 {
		t.Errorf("%d collections before and %d after one more, %d bytes in use", before, after, live)
	}
}
