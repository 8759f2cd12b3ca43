package web

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"mcp-all-in-one/internal/access"
)

// hubSize is how many events are kept for pages that reconnect.
const hubSize = 2048

// hub keeps the last events in order. Whoever follows reads from the ring, so
// a slow page costs no memory: it is told to start over.
type hub struct {
	boot string

	mu   sync.Mutex
	seq  uint64
	ring [hubSize]event
	// last is the newest event of each topic whose events are whole
	// snapshots; older ones are dropped from the ring.
	last map[string]uint64
	subs map[chan struct{}]struct{}
}

type event struct {
	seq   uint64
	topic string
	// owner is the principal that it is about; empty for those who see
	// everything.
	owner string
	// data is nil in the events of topics that are snapshots: what is in them
	// depends on who follows.
	data []byte
}

// topicEnd tells a principal that its credential has ended.
const topicEnd = "end"

// snapshotTopics carry everything in each event: all that the follower may see.
var snapshotTopics = map[string]func(*Handler, access.Principal) any{
	"servers": func(h *Handler, who access.Principal) any { return h.sight.servers(who) },
	"inbox":   func(h *Handler, who access.Principal) any { return h.opt.Inbox.List(who) },
	"clients": func(h *Handler, who access.Principal) any { return h.sight.clients(who) },
}

func newHub() *hub {
	return &hub{boot: rand.Text()[:8], last: map[string]uint64{}, subs: map[chan struct{}]struct{}{}}
}

// changed says that a snapshot has changed.
func (b *hub) changed(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := &b.ring[b.last[topic]%hubSize]; old.seq == b.last[topic] {
		old.topic = ""
	}
	b.last[topic] = b.seq + 1
	b.addLocked(event{topic: topic})
}

// publish encodes v and appends it to a topic, for the principal that it
// belongs to and those who may look at that.
func (b *hub) publish(topic, owner string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("web: an event cannot be encoded: " + err.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addLocked(event{topic: topic, owner: owner, data: data})
}

func (b *hub) addLocked(e event) {
	b.seq++
	e.seq = b.seq
	b.ring[b.seq%hubSize] = e
	for wake := range b.subs {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// follow returns a channel that is ready when since may have something.
func (b *hub) follow() (wake chan struct{}, stop func()) {
	wake = make(chan struct{}, 1)
	wake <- struct{}{}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[wake] = struct{}{}
	return wake, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, wake)
	}
}

// since returns the events after seq; gap says that some are lost.
func (b *hub) since(seq uint64) (events []event, gap bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if seq > b.seq || b.seq-seq > hubSize {
		return nil, true
	}
	for s := seq + 1; s <= b.seq; s++ {
		if e := b.ring[s%hubSize]; e.topic != "" {
			events = append(events, e)
		}
	}
	return events, false
}

func (b *hub) now() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}

// A position is how far a page has read: the id of its last event.
type position struct {
	seq, rev uint64
}

func (b *hub) id(p position) string {
	return b.boot + "-" + strconv.FormatUint(p.seq, 36) + "-" + strconv.FormatUint(p.rev, 36)
}

// parse reads an id that b.id made; false when it is from another life of this
// process.
func (b *hub) parse(id string) (position, bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return position{}, false
	}
	seq, err1 := strconv.ParseUint(parts[1], 36, 64)
	rev, err2 := strconv.ParseUint(parts[2], 36, 64)
	return position{seq, rev}, err1 == nil && err2 == nil && parts[0] == b.boot
}
