package traffic

import "time"

const (
	// dayKept is how far back a History reaches.
	dayKept = 24 * time.Hour
	// The calls of clients are kept per minute, those of each server coarser.
	clientStep = time.Minute
	serverStep = 15 * time.Minute
	// TookSteps is the number of duration buckets: two for each doubling from 64
	// µs to about a minute.
	TookSteps, tookFirst = 40, 6
)

// A History counts the calls in each step of a period, oldest step first.
type History struct {
	Start time.Time     `json:"start"`
	Step  time.Duration `json:"step"`
	Steps []HistoryStep `json:"steps"`
	// Total sums up all steps. Before sums up the period of the same length
	// before them; nil if not all of it was recorded.
	Total  HistoryStep  `json:"total"`
	Before *HistoryStep `json:"before,omitempty"`
}

// A HistoryStep counts the calls that ended in one step of a History.
type HistoryStep struct {
	OK         int64         `json:"ok"`
	ToolErrors int64         `json:"tool"`
	Errors     int64         `json:"err"`
	P50        time.Duration `json:"p50,omitempty"`
	P95        time.Duration `json:"p95,omitempty"`
}

// history is a ring of moments.
type history struct {
	step  time.Duration
	ring  []moment
	total moment // scratch space of sum
}

// moment counts the calls of one step and their durations.
type moment struct {
	number                int64 // number of the step since 1970
	ok, toolFailed, wrong uint32
	took                  [TookSteps]uint16
}

func newHistory(step time.Duration) *history {
	return &history{step: step, ring: make([]moment, dayKept/step+1)}
}

func (h *history) add(end time.Duration, took time.Duration, status uint8) {
	number := int64(end / h.step)
	m := &h.ring[number%int64(len(h.ring))]
	if m.number != number {
		*m = moment{number: number}
	}
	switch status {
	case failed:
		m.wrong++
	case toolFailed:
		m.toolFailed++
	default:
		m.ok++
	}
	if i := TookStep(took); m.took[i] < 1<<16-1 {
		m.took[i]++
	}
}

// TookStep returns the bucket of a duration. There are two buckets per doubling.
func TookStep(d time.Duration) int {
	return min(max(step(d)/2-2*tookFirst, 0), TookSteps-1)
}

// Percentile returns the duration within which the given part of the calls ended.
// took counts calls by their TookStep.
func Percentile[N uint16 | uint32](took []N, part float64) time.Duration {
	var total, seen int
	for _, n := range took {
		total += int(n)
	}
	for i, n := range took {
		if seen += int(n); total > 0 && (seen > int(part*float64(total)) || seen == total) {
			return stepTop(2*(i+2*tookFirst) + 1)
		}
	}
	return 0
}

// sum adds up the given steps of the ring.
func (h *history) sum(first, last int64) HistoryStep {
	h.total = moment{}
	for n := first; n <= last; n++ {
		m := &h.ring[n%int64(len(h.ring))]
		if m.number != n {
			continue
		}
		h.total.ok += m.ok
		h.total.toolFailed += m.toolFailed
		h.total.wrong += m.wrong
		for i, c := range m.took {
			h.total.took[i] = uint16(min(int(h.total.took[i])+int(c), 1<<16-1))
		}
	}
	return HistoryStep{OK: int64(h.total.ok), ToolErrors: int64(h.total.toolFailed), Errors: int64(h.total.wrong), P50: Percentile(h.total.took[:], .5), P95: Percentile(h.total.took[:], .95)}
}

// History returns the calls to a server, or the calls of all clients if server is
// empty, over the last length of time in at most parts steps.
func (r *Recorder) History(server string, length time.Duration, parts int) History {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	own := clientStep
	if server != "" {
		own = serverStep
	}
	length = min(max(length, own), dayKept)
	width := int64(max((length/own+time.Duration(parts)-1)/time.Duration(parts), 1)) // in steps of the ring
	out := History{Step: time.Duration(width) * own, Steps: []HistoryStep{}}
	last := now.UnixNano() / int64(own) / width
	first := last - int64(length/out.Step) + 1
	out.Start = time.Unix(0, first*width*int64(own))
	var kept *history
	if st := r.stats.byKey[statKey{server, ""}]; st != nil {
		kept = st.history
	}
	if kept != nil {
		out.Total = kept.sum(first*width, last*width+width-1)
		if before := 2*first - last - 1; 2*length <= dayKept && !r.began.After(time.Unix(0, before*width*int64(own))) {
			sum := kept.sum(before*width, first*width-1)
			out.Before = &sum
		}
	}
	for n := first; n <= last; n++ {
		var s HistoryStep
		if kept != nil {
			s = kept.sum(n*width, n*width+width-1)
		}
		out.Steps = append(out.Steps, s)
	}
	return out
}
