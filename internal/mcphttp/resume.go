package mcphttp

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/weight"
)

// frameCost is the memory for one frame besides its bytes.
const frameCost = 160

// A journal holds the streams of one session and the frames that are kept for
// resumption. Without a budget, frames are dropped once they are written.
type journal struct {
	mu     sync.Mutex
	budget int
	keep   time.Duration
	// streams by id; only resumable streams.
	streams map[string]*stream
	kept    []keptFrame // in the order in which they were kept
	bytes   int         // of kept
	// share counts n more bytes for the principal, and reports whether its sessions
	// then keep too much; nil counts nothing. full is what it last reported.
	share func(n int) bool
	full  bool
	// arm schedules a call of purge after keep. It is called with mu held, and not
	// again before purge has been called.
	arm   func()
	armed bool
}

type keptFrame struct {
	st *stream
	at time.Time
}

// frame is one message of a stream.
type frame struct {
	seq  uint64
	data []byte
	kept bool // counted in journal.kept
	// unread counts the data of a frame that is not kept; the sink counts what it writes.
	unread *weight.Answer
}

// newStream adds a stream. source, which may be nil, is the queue that the stream
// also takes messages from.
func (j *journal) newStream(source *outbox) *stream {
	st := &stream{j: j, source: source, next: 1, wake: make(chan struct{}, 1)}
	if j.budget > 0 {
		st.id = randomHex(8)
		j.mu.Lock()
		if j.streams == nil {
			j.streams = make(map[string]*stream)
		}
		j.streams[st.id] = st
		j.mu.Unlock()
	}
	return st
}

// find returns the stream of an event id, positioned after that event. It returns
// nil if the id is unknown, or was not sent yet, or the next event is no longer kept.
func (j *journal) find(eventID string, k *sink) *stream {
	id, tail, ok := strings.Cut(eventID, "-")
	if !ok {
		return nil
	}
	seq, err := strconv.ParseUint(tail, 10, 63)
	if err != nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	st := j.streams[id]
	if st == nil || seq >= st.next-uint64(st.fresh) {
		return nil
	}
	first := st.next
	if len(st.frames) > 0 {
		first = st.frames[0].seq
	}
	if seq+1 < first {
		return nil
	}
	st.attachLocked(k)
	st.sent = int(seq + 1 - first)
	return st
}

// keepLocked moves a frame of st to the journal after it was written, or if no
// connection reads it.
func (j *journal) keepLocked(st *stream, f *frame, now time.Time) {
	if f.kept {
		return
	}
	f.kept = true
	st.passLocked(f)
	j.kept = append(j.kept, keptFrame{st, now})
	j.countLocked(len(f.data) + frameCost)
	if !j.armed {
		j.armed = true
		j.arm()
	}
}

func (j *journal) countLocked(n int) {
	j.bytes += n
	if j.share != nil {
		j.full = j.share(n)
	}
}

// end stops counting for the principal.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.share != nil {
		j.share(-j.bytes)
		j.share, j.full = nil, false
	}
}

// trimLocked drops the frames that are over the budget, over the share of the
// principal or too old.
func (j *journal) trimLocked(now time.Time) {
	n := 0
	for n < len(j.kept) && (j.bytes > j.budget || j.full || now.Sub(j.kept[n].at) >= j.keep) {
		st := j.kept[n].st
		j.countLocked(-len(st.frames[0].data) - frameCost)
		st.frames[0] = frame{}
		st.frames = st.frames[1:]
		st.sent = max(0, st.sent-1)
		j.kept[n] = keptFrame{}
		n++
		j.forgetLocked(st)
	}
	j.kept = j.kept[n:]
	if len(j.kept) == 0 {
		j.kept = nil
	}
}

// forgetLocked drops a stream that has no frames, no connection and no future
// messages.
func (j *journal) forgetLocked(st *stream) {
	if len(st.frames) == 0 && st.owner == nil && (st.ended || st.source != nil) {
		delete(j.streams, st.id)
	}
}

// purge drops old frames and reports whether any are left.
func (j *journal) purge(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.trimLocked(now)
	j.armed = len(j.kept) > 0
	return j.armed
}

// cutReaders closes the connections of the streams outside calls, because their
// clients do not read.
func (j *journal) cutReaders() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, st := range j.streams {
		if st.source != nil && st.owner != nil {
			st.owner.cut(errCutOff)
		}
	}
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
