package probe

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// CallPatience limits an unattended call.
const CallPatience = time.Minute

// LoadOptions are the limits of a load test.
type LoadOptions struct {
	Parallel int
	// Duration and Count end the test, whichever comes first.
	Duration time.Duration
	Count    int
	Method   string
	Params   json.RawMessage
}

// Maximum values of a load test.
const (
	MaxLoadParallel = 1000
	MaxLoadDuration = 10 * time.Minute
	maxLoadCount    = 1_000_000
)

// A LoadResult is the result of a load test. Times are in milliseconds.
type LoadResult struct {
	Calls  int `json:"calls"`
	Errors int `json:"errors"`
	// ToolErrors counts the answers with isError.
	ToolErrors int          `json:"toolErrors"`
	Seconds    float64      `json:"seconds"`
	PerSecond  float64      `json:"perSecond"`
	Min        float64      `json:"min"`
	Mean       float64      `json:"mean"`
	P50        float64      `json:"p50"`
	P90        float64      `json:"p90"`
	P99        float64      `json:"p99"`
	Max        float64      `json:"max"`
	Histogram  []LoadBucket `json:"histogram"`
	// Problems are the first few distinct errors.
	Problems   []string `json:"problems,omitempty"`
	ProblemsZH []string `json:"problemsZH,omitempty"`
}

// A LoadBucket counts the calls that took at most UpTo milliseconds and longer
// than the previous bucket.
type LoadBucket struct {
	UpTo  float64 `json:"upTo"`
	Count int     `json:"count"`
}

// Load repeats one call on one connection.
func Load(ctx context.Context, s *Session, opt LoadOptions) *LoadResult {
	opt.Parallel = min(max(opt.Parallel, 1), MaxLoadParallel)
	if opt.Count <= 0 {
		opt.Count = maxLoadCount
	}
	opt.Count = min(opt.Count, maxLoadCount)
	if opt.Duration <= 0 || opt.Duration > MaxLoadDuration {
		opt.Duration = MaxLoadDuration
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Duration)
	defer cancel()
	var (
		wg    sync.WaitGroup
		left  atomic.Int64
		mu    sync.Mutex
		out   LoadResult
		times []time.Duration
	)
	left.Store(int64(opt.Count))
	began := time.Now()
	for range opt.Parallel {
		wg.Go(func() {
			var own []time.Duration
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				start := time.Now()
				x, err := s.Call(ctx, opt.Method, opt.Params, CallOptions{})
				if ctx.Err() != nil && err != nil {
					break // the time is over; not a failure
				}
				own = append(own, time.Since(start))
				mu.Lock()
				out.count(x, err)
				mu.Unlock()
			}
			mu.Lock()
			times = append(times, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	out.finish(times, time.Since(began))
	return &out
}

const maxProblems = 5

func (r *LoadResult) count(x *Exchange, err error) {
	if err == nil {
		err = x.Failure()
	}
	if err != nil {
		r.Errors++
		if text := err.Error(); len(r.Problems) < maxProblems && !slices.Contains(r.Problems, text) {
			r.Problems, r.ProblemsZH = append(r.Problems, text), append(r.ProblemsZH, i18n.Chinese.Of(err))
		}
		return
	}
	if x.IsToolError() {
		r.ToolErrors++
	}
}

func (r *LoadResult) finish(times []time.Duration, took time.Duration) {
	r.Calls, r.Seconds = len(times), took.Seconds()
	if len(times) == 0 {
		return
	}
	slices.Sort(times)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	at := func(q float64) float64 { return ms(times[min(int(q*float64(len(times))), len(times)-1)]) }
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	r.PerSecond = float64(len(times)) / took.Seconds()
	r.Min, r.Max, r.Mean = ms(times[0]), ms(times[len(times)-1]), ms(sum/time.Duration(len(times)))
	r.P50, r.P90, r.P99 = at(0.50), at(0.90), at(0.99)
	r.Histogram = histogram(times)
}

// histogram counts in buckets whose bounds double.
func histogram(times []time.Duration) []LoadBucket {
	var out []LoadBucket
	i := 0
	for bound := 125 * time.Microsecond; i < len(times); bound *= 2 {
		n := 0
		for ; i < len(times) && times[i] <= bound; i++ {
			n++
		}
		if n > 0 || len(out) > 0 {
			out = append(out, LoadBucket{UpTo: float64(bound.Microseconds()) / 1000, Count: n})
		}
	}
	return out
}
