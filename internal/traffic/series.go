package traffic

import (
	"cmp"
	"maps"
	"sort"
	"time"
)

// boundSteps are the bounds of Series as powers of two, in microseconds: about 1
// ms to 4 minutes.
var boundSteps = []int{10, 12, 14, 16, 18, 20, 22, 24, 26, 28}

// Bounds returns the upper bounds of the buckets of a Series.
func Bounds() []time.Duration {
	var list []time.Duration
	for _, k := range boundSteps {
		list = append(list, time.Duration(1<<k)*time.Microsecond)
	}
	return list
}

// A Series holds the counters of one server, or of one of its tools, since the
// start.
type Series struct {
	Server, Name  string
	Calls, Errors int64
	Reasons       map[string]int64
	Sum           time.Duration
	// Buckets counts, for each of Bounds, the calls that took no longer.
	Buckets []int64
}

// Series returns the counters of every server and tool, sorted by server and
// name. The one without a server counts the calls of clients to this gateway.
func (r *Recorder) Series() []Series {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Series, 0, len(r.stats.byKey))
	for k, st := range r.stats.byKey {
		s := Series{Server: k.server, Name: k.name, Calls: st.calls, Errors: st.errors, Reasons: maps.Clone(st.reasons), Sum: st.sum}
		var below int64
		step := 0
		for _, bound := range boundSteps {
			for ; step < 4*bound; step++ {
				below += int64(st.histogram[step])
			}
			s.Buckets = append(s.Buckets, below)
		}
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(cmp.Compare(out[i].Server, out[j].Server), cmp.Compare(out[i].Name, out[j].Name)) < 0
	})
	return out
}
