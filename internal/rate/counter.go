package rate

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A key identifies what is counted together: all calls of a principal, its calls
// to a server, or its calls of one tool.
type key struct{ who, schema, server, tool string }

// A bound is how many calls per minute a key may have.
type bound struct {
	key
	perMinute int
}

// A counter has a token bucket for each key. A bucket holds as many calls as a
// minute may have, and fills evenly. A full bucket carries no information and is
// dropped by a sweep, so there are about as many buckets as were used in the last
// minute.
type counter struct {
	mu      sync.Mutex
	buckets map[key]*rate.Limiter
	sweepAt int
	// send gives the other replicas what was spent since the last time; nil if
	// there are none.
	send  func([]Spent)
	spent map[bound]int
}

// leastSweep is the number of buckets below which there is no sweep.
const leastSweep = 1024

// take counts a call against all bounds, or against none if one of them is used
// up. It then returns the bound with the longest wait, and the wait.
func (c *counter) take(bounds []bound) (full bound, wait time.Duration) {
	if len(bounds) == 0 {
		return full, 0
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range bounds {
		// Tokens may be short by a rounding error.
		if missing := 1 - 1e-9 - c.bucket(b, now).TokensAt(now); missing > 0 {
			if d := time.Duration(missing * float64(time.Minute) / float64(b.perMinute)); d >= wait {
				full, wait = b, max(d, 1)
			}
		}
	}
	if wait > 0 {
		return full, wait
	}
	for _, b := range bounds {
		c.buckets[b.key].ReserveN(now, 1)
	}
	c.note(bounds)
	return full, 0
}

// bucket returns the bucket of a bound. If the bound has changed, the bucket
// keeps its tokens.
func (c *counter) bucket(b bound, now time.Time) *rate.Limiter {
	limit := rate.Limit(float64(b.perMinute) / 60)
	l := c.buckets[b.key]
	switch {
	case l == nil:
		c.sweep(now)
		l = rate.NewLimiter(limit, b.perMinute)
		c.buckets[b.key] = l
	case l.Burst() != b.perMinute:
		l.SetLimitAt(now, limit)
		l.SetBurstAt(now, b.perMinute)
	}
	return l
}

func (c *counter) sweep(now time.Time) {
	if c.buckets == nil {
		c.buckets = make(map[key]*rate.Limiter)
	}
	if len(c.buckets) < max(c.sweepAt, leastSweep) {
		return
	}
	for k, l := range c.buckets {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(c.buckets, k)
		}
	}
	c.sweepAt = 2 * len(c.buckets)
}
