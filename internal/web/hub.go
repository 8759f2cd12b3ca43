package web

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"mcp-all-in-one/internal/access"
)

// hubSize is the number of events kept for pages that reconnect.
const hubSize = 2048

// hub keeps the latest events in order. Followers read from the ring, so a
// slow page uses no memory: if it falls too far behind, it is told to start
// over.
type hub struct {
	boot string

	mu   sync.Mutex
	seq  uint64
	ring [hubSize]event
	// last is the sequence number of the newest event of each snapshot topic.
	// Older events of these topics are removed from the ring.
	last map[string]uint64
	subs map[chan struct{}]struct{}
}

type event struct {
	seq   uint64
	topic string
	// owner is the principal that the event concerns. If it is empty, only
	// principals that may see everything receive the event.
	owner access.Principal
	// data is nil for snapshot topics, because a snapshot depends on the
	// principal that follows.
	data []byte
}

// topicEnd is sent to a principal whose credential is no longer valid.
const topicEnd = "end"

// snapshotTopics are topics whose events carry the complete state that the
// follower may see.
var snapshotTopics = map[string]func(*Handler, access.Principal) any{
	"servers": func(h *Handler, who access.Principal) any {
		return named(h.sight.servers(who), h.joined.self(), serverReplica)
	},
	"inbox": func(h *Handler, who access.Principal) any {
		return named(h.opt.Inbox.List(who), h.joined.self(), questionReplica)
	},
	"clients": func(h *Handler, who access.Principal) any {
		return named(h.sight.clients(who), h.joined.self(), clientReplica)
	},
}

// changed adds an event that a snapshot has changed.
func (b *hub) changed(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := &b.ring[b.last[topic]%hubSize]; old.seq == b.last[topic] {
		old.topic = ""
	}
	b.last[topic] = b.seq + 1
	b.addLocked(event{topic: topic})
}

// publish encodes v and appends it to a topic. The owner and the principals
// that may look at the owner receive it.
func (b *hub) publish(topic string, owner access.Principal, v any) {
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

// follow returns a channel that is ready when since may return new events.
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

// since returns the events after seq; gap reports that some events are lost.
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

// A position is how far a page has read. It is encoded in the id of the
// page's last event.
type position struct {
	seq, rev uint64
}

func (b *hub) id(p position) string {
	return b.boot + "-" + strconv.FormatUint(p.seq, 36) + "-" + strconv.FormatUint(p.rev, 36)
}

// parse reads an id that b.id made; false if an earlier run of the process
// made it.
func (b *hub) parse(id string) (position, bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return position{}, false
	}
	seq, err1 := strconv.ParseUint(parts[1], 36, 64)
	rev, err2 := strconv.ParseUint(parts[2], 36, 64)
	return position{seq, rev}, err1 == nil && err2 == nil && parts[0] == b.boot
}
