package pressure

import (
	"sync"
	"testing"
)

func TestPressure(t *testing.T) {
	t.Run("fault/F28", func(t *testing.T) {
		used, dropped := uint64(0), 0
		p := &Gauge{configured: func() int64 { return 1000 }, drop: func() { dropped++ }, used: func() uint64 { return used }, garbage: collector{read: collections}, threads: threads{used: processorTime}}
		for _, tc := range []struct {
			used  uint64
			level int64
			drops int
		}{{500, 50, 0}, {799, 79, 0}, {850, 85, 1}, {900, 90, 1}, {960, 96, 1}, {100, 10, 1}} {
			used = tc.used
			p.next.Store(0)
			if level := p.Level(); level != tc.level || dropped != tc.drops {
				t.Errorf("%d of 1000 in use: %d %%, caches dropped %d times", tc.used, level, dropped)
			}
		}
		used = 990
		if p.Level() != 10 {
			t.Error("it is measured at every call")
		}
	})
	if memoryLimit() == 0 || memoryInUse() == 0 {
		t.Errorf("limit %d, in use %d", memoryLimit(), memoryInUse())
	}
}

// TestGiveBackEmptiesPools checks that the buffers of large answers, which
// pools keep through one collection, are released.
func TestGiveBackEmptiesPools(t *testing.T) {
	var pool sync.Pool
	for range 100 {
		pool.Put(new([1 << 16]byte))
	}
	giveBack()
	if pool.Get() != nil {
		t.Error("a pooled buffer is still there")
	}
}
