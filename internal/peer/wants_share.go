package peer

import (
	"container/list"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"mcp-all-in-one/internal/mcphttp"
)

const (
	// maxWants bounds the size of what a replica keeps for the clients of all
	// sessions, and maxFinal the sessions that may not begin again, which take
	// about 2 MiB. One principal may have a quarter of each.
	maxWants = 6 << 20
	maxFinal = 48 << 10
	// wantOver is the size of a want besides the texts of its client.
	wantOver = 256
	// sweepEvery is how often what is too old may be looked for.
	sweepEvery = time.Minute
	// clocks is by how much the clocks of replicas may differ.
	clocks = time.Hour
)

// A share is what is known of the sessions of one principal, and the order in which
// its wants leave.
type share struct {
	knowledge
	size  int
	order list.List // of the tags of its wants; the last changed is last
}

// A want is what the client of one session wants.
type want struct {
	mcphttp.Wants
	Began int64 `json:"began"` // ticket.Time
	size  int
	at    *list.Element
}

// add adds what is newer than what is known.
func (k *Wanted) add(news map[string]knowledge) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = make(map[string]*share)
	}
	for who, n := range news {
		s := k.of[who]
		if s == nil {
			s = &share{knowledge: knowledge{Wants: make(map[tag]want), Final: make(map[tag]int64)}}
			k.of[who] = s
		}
		s.Until = max(s.Until, n.Until)
		for id, began := range n.Final {
			if !s.isFinal(id, began) {
				s.Final[id] = began
				k.final++
			}
			k.drop(s, id)
		}
		for id, w := range n.Wants {
			if !s.isFinal(id, w.Began) && w.Turn > s.Wants[id].Turn {
				k.drop(s, id)
				k.put(s, id, w)
			}
		}
		k.fit(s)
	}
}

// put adds a want and counts the bytes of its JSON. This also bounds the text with
// everything that another replica asks for, or is sent. The caller holds the mutex.
func (k *Wanted) put(s *share, id tag, w want) {
	text, _ := json.Marshal(w) // texts and numbers
	w.size, w.at = len(text)+wantOver, s.order.PushBack(id)
	s.Wants[id] = w
	s.size += w.size
	k.size += w.size
}

// drop forgets a want. The caller holds the mutex.
func (k *Wanted) drop(s *share, id tag) {
	if w, ok := s.Wants[id]; ok {
		delete(s.Wants, id)
		s.order.Remove(w.at)
		s.size -= w.size
		k.size -= w.size
	}
}

// fit makes room after news of one principal: it is the first to lose something. If
// there is too much in all, the principal that has most loses. The caller holds the
// mutex.
func (k *Wanted) fit(s *share) {
	if (k.size > maxWants || k.final > maxFinal || len(s.Final) > maxFinal/4) && time.Since(k.swept) > sweepEvery {
		k.sweep()
	}
	for s.size > maxWants/4 {
		k.drop(s, s.order.Front().Value.(tag))
	}
	for k.size > maxWants {
		s := k.most(func(s *share) int { return s.size })
		k.drop(s, s.order.Front().Value.(tag))
	}
	if len(s.Final) > maxFinal/4 {
		k.halve(s)
	}
	for k.final > maxFinal {
		k.halve(k.most(func(s *share) int { return len(s.Final) }))
	}
}

// most returns the share that has most of something.
func (k *Wanted) most(size func(*share) int) (most *share) {
	for _, s := range k.of {
		if most == nil || size(s) > size(most) {
			most = s
		}
	}
	return most
}

// halve replaces the older half of the final sessions of a principal by a time.
func (k *Wanted) halve(s *share) {
	began := slices.Sorted(maps.Values(s.Final))
	s.Until = max(s.Until, began[len(began)/2])
	k.forget(s, s.Until)
}

// forget forgets final sessions that began until a time.
func (k *Wanted) forget(s *share, until int64) {
	k.final -= len(s.Final)
	maps.DeleteFunc(s.Final, func(_ tag, began int64) bool { return began <= until })
	k.final += len(s.Final)
}

// sweep forgets sessions that are too old to begin again.
func (k *Wanted) sweep() {
	k.swept = time.Now()
	old := k.swept.Add(-restorable - clocks).Unix()
	for who, s := range k.of {
		k.forget(s, old)
		for id, w := range s.Wants {
			if w.Began <= old {
				k.drop(s, id)
			}
		}
		if len(s.Wants)+len(s.Final) == 0 && s.Until <= old {
			delete(k.of, who)
		}
	}
}
