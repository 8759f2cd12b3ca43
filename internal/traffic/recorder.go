package traffic

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options sets the sizes of a Recorder; zero values mean the defaults.
type Options struct {
	// Calls is how many summaries are kept (10,000).
	Calls int
	// Lines is how many log lines are kept (5,000).
	Lines int
	// HeadBytes limits the memory for the first bytes of bodies (8 MiB).
	HeadBytes int64
	// BodyBytes limits the memory for whole bodies, which are kept while attached
	// (64 MiB).
	BodyBytes int64
	// Now is the clock (time.Now).
	Now func() time.Time
}

// A Recorder keeps the last messages. All methods may be called concurrently. A
// nil Recorder records nothing.
type Recorder struct {
	mu sync.Mutex
	record
}

// A record is the part of a Recorder that its mutex guards.
type record struct {
	attached atomic.Int32 // also read without the mutex

	// The fields that every call needs are together, the tables behind them.
	ids   uint64
	calls slots[entry]
	heads byteRing
	// revs maps a revision to its change.
	rev  uint64
	revs slots[change]
	subs map[*Subscription]struct{}
	// whole maps entries to their bodies that are kept whole.
	whole map[uint64][2]span
	stats stats

	who     table[who, struct{}]
	what    table[what, counted]
	reasons table[string, struct{}]
	notes   table[string, remarks]
	bodies  byteRing
	lineID  uint64
	lines   slots[Line]
	now     func() time.Time
	began   time.Time
}

// New returns a Recorder.
func New(opt Options) *Recorder {
	if opt.Calls <= 0 {
		opt.Calls = 10_000
	}
	if opt.Lines <= 0 {
		opt.Lines = 5_000
	}
	if opt.HeadBytes <= 0 {
		opt.HeadBytes = 8 << 20
	}
	if opt.BodyBytes <= 0 {
		opt.BodyBytes = 64 << 20
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	r := &Recorder{record: record{
		now:    opt.Now,
		began:  opt.Now(),
		calls:  newSlots[entry](opt.Calls),
		lines:  newSlots[Line](opt.Lines),
		revs:   newSlots[change](2 * opt.Calls),
		heads:  newByteRing(opt.HeadBytes),
		bodies: newByteRing(opt.BodyBytes),
		whole:  make(map[uint64][2]span),
		subs:   make(map[*Subscription]struct{}),
		who:    newTable[who, struct{}](), what: newTable[what, counted](),
		reasons: newTable[string, struct{}](), notes: newTable[string, remarks](),
	}}
	r.stats.init()
	return r
}

// Enabled reports whether messages are recorded.
func (r *Recorder) Enabled() bool { return r != nil }

// Attach makes the recorder keep whole bodies until detach is called. The last
// detach drops the bodies.
func (r *Recorder) Attach() (detach func()) {
	r.attached.Add(1)
	var once sync.Once
	return func() {
		once.Do(func() {
			if r.attached.Add(-1) == 0 {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.bodies.drop()
				r.whole = make(map[uint64][2]span)
			}
		})
	}
}

// Attached reports whether whole bodies are kept.
func (r *Recorder) Attached() bool { return r != nil && r.attached.Load() > 0 }

// Begin records a running call and returns its id for End and for Parent; 0 if r
// is nil. The part of req that is kept is copied.
func (r *Recorder) Begin(c *Call, req []byte) uint64 {
	if !r.Enabled() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.add(c, req, pending)
	r.changed(change(2 * e.id))
	return e.id
}

// End records how a call ended. It ignores an id of 0, an id that has left the
// ring, and a call that has already ended.
func (r *Recorder) End(id uint64, o *Outcome, res []byte) {
	if id == 0 || !r.Enabled() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(id, o, res)
}

func (r *record) end(id uint64, o *Outcome, res []byte) {
	e := r.entry(id)
	if e == nil || e.status != pending {
		return
	}
	e.status, e.code, e.total = indexOf(statuses[:], o.Status), o.Code, o.Total
	r.reasons.release(e.reason)
	e.reason = r.reasonOf(o.Reason)
	if len(o.Notes) > 0 {
		before := e.notes
		e.notes = r.notesOf(slices.Concat(r.notes.rows[before].data.en, o.Notes))
		r.notes.release(before)
	}
	r.went(e, o.Server)
	r.answered(e, res)
	r.split(e, o)
	r.count(e)
	r.changed(change(2 * id))
}

// answered stores the answer of a call. It is often the same as the answer to a
// call that it caused.
func (r *record) answered(e *entry, res []byte) {
	e.resSize = int64(len(res))
	if len(res) > 0 {
		e.resHead = r.keep(e.id, Response, res, e.resHead)
	}
}

// split attributes the time of a call. For a client's call, transport and server
// are the sums over the calls to servers that it caused; the rest is the
// gateway's. Concurrent calls can add up to more than the total and are then
// scaled down to it.
func (r *record) split(e *entry, o *Outcome) {
	switch {
	case e.hop == hopServer || o.Gateway+o.Transport+o.ServerTime > 0:
		e.gateway, e.transport, e.server = o.Gateway, o.Transport, o.ServerTime
	case !e.fromServer:
		if elsewhere := e.transport + e.server; elsewhere > e.total {
			e.transport = time.Duration(float64(e.transport) * float64(e.total) / float64(elsewhere))
			e.server = e.total - e.transport
		}
		e.gateway = e.total - e.transport - e.server
	}
	if up := r.entry(e.parent); up != nil && up.status == pending && !e.fromServer {
		up.transport += e.transport
		up.server += e.server
		up.resHead = e.resHead
	}
}

// Add records a notification, or a call that has already ended.
func (r *Recorder) Add(c *Call, req, res []byte) uint64 {
	if !r.Enabled() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.add(c, req, ok)
	r.answered(e, res)
	r.count(e)
	r.changed(change(2 * e.id))
	return e.id
}

// AddLine records one line of a server's log. Long lines are truncated.
func (r *Recorder) AddLine(l Line) {
	if !r.Enabled() {
		return
	}
	if len(l.Text) > HeadSize {
		l.Text = strings.Clone(l.Text[:HeadSize]) + "…"
	}
	if l.Time.IsZero() {
		l.Time = r.now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lineID++
	l.ID = r.lineID
	*r.lines.at(l.ID) = l
	r.changed(change(2*l.ID + 1))
}

// keep stores the head of a body, and the whole body while attached. The body on
// the other hop, whose head is at twin, is most often the same; its copy is then
// reused.
func (r *record) keep(id uint64, side Side, body []byte, twin int64) (head int64) {
	if len(body) > HeadSize && r.attached.Load() > 0 {
		w := r.whole[id]
		w[side] = r.bodies.put(withoutTickets(body))
		r.whole[id] = w
	}
	body = body[:min(len(body), HeadSize)]
	if r.heads.holds(twin, body) {
		return twin
	}
	return r.heads.put(withoutTickets(body)).at
}

func (r *record) entry(id uint64) *entry {
	if id == 0 || id > r.ids {
		return nil
	}
	if e := r.calls.at(id); e.id == id {
		return e
	}
	return nil
}
