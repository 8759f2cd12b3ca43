package peer

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"

	"mcp-all-in-one/internal/mcphttp"
)

// wantsPath is the URL path for what replicas keep of each other's sessions: GET
// returns what a replica knows, POST adds to it.
const wantsPath = "/peer/v1/wants"

// A Wanted has what the clients of all replicas' sessions want, and which sessions
// may not begin again. Each replica has a copy, so that any one of them can restore
// a session whose owner is lost.
type Wanted struct {
	others *Directory
	ticket func(id string) (ticket, bool)

	ctx     context.Context // ends repeat
	end     context.CancelFunc
	running sync.WaitGroup // send and repeat

	mu      sync.Mutex
	of      map[string]*share // by ticket.Who
	size    int               // of the wants of all
	final   int               // sessions in the Final of all
	swept   time.Time
	unsent  map[tag]string // ticket.Who of sessions with news
	sending bool
	// hearers are the replicas to which news was sent, by address.
	hearers   map[string]*hearer
	repeating bool
}

// A tag stands for a session. It is the beginning of its ticket.Random.
type tag [12]byte

func tagOf(t *ticket) (id tag) {
	copy(id[:], t.Random)
	return id
}

func (t tag) MarshalText() ([]byte, error) { return t[:], nil }

func (t *tag) UnmarshalText(text []byte) error {
	copy(t[:], text)
	return nil
}

// knowledge is what replicas keep of the sessions of one principal.
type knowledge struct {
	Wants map[tag]want `json:"wants,omitempty"`
	// Final are the sessions that may not begin again, because they have ended or
	// had a process of their own, with their ticket.Time.
	Final map[tag]int64 `json:"final,omitempty"`
	// Until replaces those for which there was no room: no session that began
	// until then may begin again.
	Until int64 `json:"until,omitempty"`
}

// isFinal reports whether a session may not begin again.
func (o *knowledge) isFinal(id tag, began int64) bool {
	_, ok := o.Final[id]
	return ok || began <= o.Until
}

// Keep gives the other replicas what they need to restore a session. It returns at
// once: the client does not wait for other replicas.
func (k *Wanted) Keep(session string, w mcphttp.Wants) {
	t, ok := k.ticket(session)
	if !ok || t.Bound { // no replica can restore it
		return
	}
	id, news := tagOf(&t), knowledge{}
	if w.Bound {
		news.Final = map[tag]int64{id: t.Time}
	} else {
		news.Wants = map[tag]want{id: {Wants: w, Began: t.Time}}
	}
	k.add(map[string]knowledge{t.Who: news})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unsent == nil {
		k.unsent = make(map[tag]string)
	}
	k.unsent[id] = t.Who
	if !k.sending && k.ctx.Err() == nil {
		k.sending = true
		k.running.Go(k.send)
	}
}

// get returns what the client of a session wants.
func (k *Wanted) get(session string) mcphttp.Wants {
	t, ok := k.ticket(session)
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.of[t.Who]
	switch id := tagOf(&t); {
	case !ok || s == nil:
		return mcphttp.Wants{}
	case s.isFinal(id, t.Time):
		return mcphttp.Wants{Bound: true}
	default:
		return s.Wants[id].Wants
	}
}

func (k *Wanted) all() map[string]knowledge {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make(map[string]knowledge, len(k.of))
	for who, s := range k.of {
		list[who] = knowledge{maps.Clone(s.Wants), maps.Clone(s.Final), s.Until}
	}
	return list
}

// Len returns the number of sessions whose clients want something, and of those
// that may not begin again.
func (k *Wanted) Len() (wants, final int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.of {
		wants += len(s.Wants)
	}
	return wants, k.final
}

const (
	// catchUpEvery is how often a new replica asks the others until one answers,
	// and catchUpFor how long.
	catchUpEvery = time.Second
	catchUpFor   = time.Minute
)

// CatchUp asks the other replicas what they know, until one of them has answered.
func (k *Wanted) CatchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, catchUpFor)
	defer cancel()
	tick := time.NewTicker(catchUpEvery)
	defer tick.Stop()
	for {
		answered := false
		for _, r := range k.others.getAll(ctx, pageWait, wantsPath, maxPage) {
			var news map[string]knowledge
			if r.Err == nil && json.Unmarshal(r.Text, &news) == nil {
				k.add(news)
				answered = true
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if answered {
			return
		}
	}
}

// serve answers a request for wantsPath.
func (k *Wanted) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		writeJSON(w, k.all())
		return
	}
	if news, ok := told[map[string]knowledge](w, r); ok {
		k.add(news)
	}
}
