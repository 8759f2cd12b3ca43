package traffic

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options size a Recorder; zero values are the defaults.
type Options struct {
	// Calls is how many summaries are kept (10,000).
	Calls int
	// Lines is how many log lines are kept (5,000).
	Lines int
	// HeadBytes bounds the first bytes of bodies (8 MiB).
	HeadBytes int64
	// BodyBytes bounds whole bodies, kept while attached (64 MiB).
	BodyBytes int64
	// Now is the clock (time.Now).
	Now func() time.Time
}

// A Recorder keeps the last messages. All methods may be called concurrently;
// a nil Recorder records nothing.
type Recorder struct {
	enabled  atomic.Bool
	attached atomic.Int32
	now      func() time.Time

	mu     sync.Mutex
	ids    uint64
	calls  slots[entry]
	heads  *byteRing
	bodies *byteRing
	lineID uint64
	lines  slots[Line]
	// revs maps a revision to what changed in it.
	revs  slots[change]
	rev   uint64
	subs  map[*Subscription]struct{}
	stats stats
}

// entry is one summary with the places of its bodies.
type entry struct {
	Call
	reqHead, resHead span
	reqBody, resBody span
	// below sums up the calls to servers that this one caused.
	below struct{ total, transport, server time.Duration }
}

type change struct {
	call uint64
	line uint64
}

// New is a recorder that is enabled.
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
	r := &Recorder{
		now:    opt.Now,
		calls:  newSlots[entry](opt.Calls),
		lines:  newSlots[Line](opt.Lines),
		revs:   newSlots[change](2 * opt.Calls),
		heads:  newByteRing(opt.HeadBytes),
		bodies: newByteRing(opt.BodyBytes),
		subs:   make(map[*Subscription]struct{}),
	}
	r.stats.init()
	r.enabled.Store(true)
	return r
}

// SetEnabled switches recording on or off; what was recorded stays.
func (r *Recorder) SetEnabled(on bool) { r.enabled.Store(on) }

// Enabled reports whether anything is recorded: one atomic load.
func (r *Recorder) Enabled() bool { return r != nil && r.enabled.Load() }

// Attach makes the recorder keep whole bodies until detach is called. When the
// last one detaches, the bodies are dropped.
func (r *Recorder) Attach() (detach func()) {
	r.attached.Add(1)
	var once sync.Once
	return func() {
		once.Do(func() {
			if r.attached.Add(-1) == 0 {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.bodies.drop()
			}
		})
	}
}

// Attached reports whether whole bodies are kept.
func (r *Recorder) Attached() bool { return r != nil && r.attached.Load() > 0 }

// Begin records a call that runs and returns its id for End and for Parent; 0
// when disabled. req is copied as far as it is kept.
func (r *Recorder) Begin(c *Call, req []byte) uint64 {
	if !r.Enabled() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.addLocked(c, req)
	if e.Status == "" {
		e.Status = StatusPending
	}
	r.changedLocked(change{call: e.ID})
	return e.ID
}

// End records how a call ended. It ignores an id of 0, one that has left the
// ring, and one that has ended already.
func (r *Recorder) End(id uint64, o *Outcome, res []byte) {
	if id == 0 || !r.Enabled() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entryLocked(id)
	if e == nil || e.Status != StatusPending {
		return
	}
	e.Status, e.Code, e.Reason = o.Status, o.Code, o.Reason
	e.Total, e.Gateway, e.Transport, e.ServerTime = o.Total, o.Gateway, o.Transport, o.ServerTime
	r.splitLocked(e)
	if o.Server != "" {
		e.Server = o.Server
	}
	if len(o.Notes) > 0 {
		e.Notes = append(e.Notes[:len(e.Notes):len(e.Notes)], o.Notes...)
	}
	e.ResSize = int64(len(res))
	e.resHead, e.resBody = r.keepLocked(res)
	r.stats.addLocked(&e.Call, r.now())
	r.changedLocked(change{call: id})
}

// splitLocked says where the time of a client's call went from the calls to
// servers below it, when whoever recorded it did not.
func (r *Recorder) splitLocked(e *entry) {
	if e.Hop == HopServer {
		if up := r.entryLocked(e.Parent); up != nil {
			up.below.total += e.Total
			up.below.transport += e.Transport
			up.below.server += e.ServerTime
		}
		return
	}
	if e.below.total > 0 && e.Gateway+e.Transport+e.ServerTime == 0 {
		e.Gateway, e.Transport, e.ServerTime = max(e.Total-e.below.total, 0), e.below.transport, e.below.server
	}
}

// Add records what has already ended: a notification, or a call in one step.
func (r *Recorder) Add(c *Call, req, res []byte) uint64 {
	if !r.Enabled() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.addLocked(c, req)
	if e.Status == "" {
		e.Status = StatusOK
	}
	e.ResSize = int64(len(res))
	e.resHead, e.resBody = r.keepLocked(res)
	r.stats.addLocked(&e.Call, r.now())
	r.changedLocked(change{call: e.ID})
	return e.ID
}

// AddLine records one line of a server's log; long lines are cut.
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
	r.changedLocked(change{line: l.ID})
}

func (r *Recorder) addLocked(c *Call, req []byte) *entry {
	r.ids++
	e := r.calls.at(r.ids)
	*e = entry{Call: *c}
	e.ID = r.ids
	if e.Kind == "" {
		e.Kind = KindCall
	}
	if e.Start.IsZero() {
		e.Start = r.now()
	}
	e.ReqHead, e.ResHead = nil, nil
	e.ReqSize = int64(len(req))
	e.reqHead, e.reqBody = r.keepLocked(req)
	return e
}

// keepLocked keeps the head of a body, and the whole of it while attached.
func (r *Recorder) keepLocked(body []byte) (head, whole span) {
	if len(body) == 0 {
		return span{}, span{}
	}
	head = r.heads.put(body[:min(len(body), HeadSize)])
	if len(body) > HeadSize && r.Attached() {
		whole = r.bodies.put(body)
	}
	return head, whole
}

func (r *Recorder) entryLocked(id uint64) *entry {
	if id == 0 || id > r.ids {
		return nil
	}
	if e := r.calls.at(id); e.ID == id {
		return e
	}
	return nil
}

func (r *Recorder) changedLocked(c change) {
	r.rev++
	*r.revs.at(r.rev) = c
	for s := range r.subs {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}
