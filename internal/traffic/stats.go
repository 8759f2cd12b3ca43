package traffic

import (
	"cmp"
	"maps"
	"math/bits"
	"sort"
	"time"
)

const (
	// maxStatKeys limits the (server, name) pairs that are counted separately.
	// Later pairs are counted together under the name "…".
	maxStatKeys    = 4096
	maxReasons     = 32
	minutesKept    = 60
	histogramSteps = 160
)

// A Stat sums up the calls of one server, or of one of its tools.
type Stat struct {
	Server string `json:"server"`
	// Name is empty for the whole server.
	Name   string `json:"name,omitempty"`
	Calls  int64  `json:"calls"`
	Errors int64  `json:"errors"`
	// Reasons counts errors. Errors of this gateway are counted by their reason,
	// such as "upstream_closed"; others by status and code, such as "tool_error"
	// or "error -32602".
	Reasons map[string]int64 `json:"reasons,omitempty"`
	P50     time.Duration    `json:"p50"`
	P95     time.Duration    `json:"p95"`
	P99     time.Duration    `json:"p99"`
	// PerMinute and ErrorsPerMinute end with the current minute. Only whole
	// servers have them.
	PerMinute       []int64 `json:"perMinute,omitempty"`
	ErrorsPerMinute []int64 `json:"errorsPerMinute,omitempty"`
}

// stats counts the calls to servers. The calls of clients are counted under the
// empty server name.
type stats struct {
	byKey   map[statKey]*stat
	clients *stat
}

type statKey struct{ server, name string }

type stat struct {
	calls, errors int64
	sum           time.Duration
	reasons       map[string]int64
	histogram     [histogramSteps]uint32
	minutes       *minutes
	history       *history // only for whole servers and for the calls of clients
}

// minutes is a ring of counters by minute.
type minutes struct {
	last          int64
	calls, errors [minutesKept]int64
}

func (s *stats) init() { s.byKey = make(map[statKey]*stat) }

func (s *stats) get(k statKey) *stat {
	st := s.byKey[k]
	if st == nil && len(s.byKey) >= maxStatKeys {
		k = statKey{"", "…"}
		st = s.byKey[k]
	}
	if st == nil {
		st = &stat{}
		if k.name == "" {
			st.minutes, st.history = &minutes{}, newHistory(serverStep)
			if k.server == "" {
				st.history = newHistory(clientStep)
			}
		}
		s.byKey[k] = st
	}
	return st
}

func (st *stat) add(total time.Duration, minute int64, failure string) {
	st.calls++
	st.sum += total
	st.histogram[step(total)]++
	if failure != "" {
		st.errors++
		st.blame(failure)
	}
	if st.minutes != nil {
		st.minutes.add(minute, failure != "")
	}
}

func (st *stat) blame(reason string) {
	if st.reasons == nil {
		st.reasons = make(map[string]int64)
	}
	if _, ok := st.reasons[reason]; !ok && len(st.reasons) >= maxReasons {
		reason = "other"
	}
	st.reasons[reason]++
}

func (m *minutes) add(minute int64, failed bool) {
	m.advance(minute)
	i := m.last % minutesKept
	m.calls[i]++
	if failed {
		m.errors[i]++
	}
}

func (m *minutes) advance(minute int64) {
	if m.last == 0 || minute-m.last > minutesKept {
		m.last = max(minute-minutesKept, 0)
	}
	for m.last < minute {
		m.last++
		m.calls[m.last%minutesKept], m.errors[m.last%minutesKept] = 0, 0
	}
}

func (m *minutes) series(now time.Time) (calls, errors []int64) {
	m.advance(now.Unix() / 60)
	for i := m.last + 1; i <= m.last+minutesKept; i++ {
		calls = append(calls, m.calls[i%minutesKept])
		errors = append(errors, m.errors[i%minutesKept])
	}
	return calls, errors
}

// step returns the histogram bucket of a duration: four per octave of
// microseconds, so that a percentile is off by at most a fifth.
func step(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 1))
	octave := bits.Len64(us) - 1
	quarter := 0
	if octave >= 2 {
		quarter = int(us>>(octave-2)) & 3
	} else {
		quarter = int(us<<(2-octave)) & 3
	}
	return min(octave*4+quarter, histogramSteps-1)
}

// stepTop returns the upper bound of a bucket.
func stepTop(i int) time.Duration {
	octave, quarter := i/4, i%4
	return time.Duration(float64(uint64(1)<<octave)*(1+float64(quarter+1)/4)) * time.Microsecond
}

func (st *stat) percentile(p float64) time.Duration {
	var total, seen uint64
	for _, n := range st.histogram {
		total += uint64(n)
	}
	if total == 0 {
		return 0
	}
	want := uint64(p * float64(total))
	for i, n := range st.histogram {
		seen += uint64(n)
		if seen > want || seen == total {
			return stepTop(i)
		}
	}
	return 0
}

// Stats returns the statistics of every server and tool, sorted by server and
// name. The entry without a server counts the calls of clients to this gateway.
func (r *Recorder) Stats() []Stat {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Stat, 0, len(r.stats.byKey))
	for k, st := range r.stats.byKey {
		o := Stat{Server: k.server, Name: k.name, Calls: st.calls, Errors: st.errors,
			P50: st.percentile(.5), P95: st.percentile(.95), P99: st.percentile(.99)}
		if len(st.reasons) > 0 {
			o.Reasons = make(map[string]int64, len(st.reasons))
			maps.Copy(o.Reasons, st.reasons)
		}
		if st.minutes != nil {
			o.PerMinute, o.ErrorsPerMinute = st.minutes.series(now)
		}
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(cmp.Compare(out[i].Server, out[j].Server), cmp.Compare(out[i].Name, out[j].Name)) < 0
	})
	return out
}
