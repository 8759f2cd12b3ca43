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

// wantsPath is the URL path for what the clients of sessions want to be notified
// of: GET returns what a replica knows, POST adds to it.
const wantsPath = "/peer/v1/wants"

const (
	// maxKept bounds the size of what a replica keeps for all sessions.
	maxKept = 8 << 20
	// keptOver is the size of an entry besides the texts of a client.
	keptOver = 512
)

// A Wanted has what the clients of all replicas' sessions want. Each replica has
// a copy, so that any one of them can restore a session whose owner is lost.
type Wanted struct {
	others *Directory

	mu      sync.Mutex
	by      map[string]mcphttp.Wants // by session id
	size    int
	unsent  map[string]mcphttp.Wants
	sending bool
}

// add adds what is newer than what is known.
func (k *Wanted) add(news map[string]mcphttp.Wants) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = make(map[string]mcphttp.Wants)
	}
	for id, w := range news {
		if w.Turn <= k.by[id].Turn {
			continue
		}
		k.drop(id)
		k.by[id] = w
		k.size += w.Size() + keptOver
		for old := range k.by {
			if k.size <= maxKept {
				break
			}
			k.drop(old) // any entry
		}
	}
}

// drop forgets a session. The caller holds the mutex.
func (k *Wanted) drop(id string) {
	if w, ok := k.by[id]; ok {
		k.size -= w.Size() + keptOver
		delete(k.by, id)
	}
}

func (k *Wanted) get(id string) mcphttp.Wants {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.by[id]
}

func (k *Wanted) all() map[string]mcphttp.Wants {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.by)
}

// Len returns the number of sessions.
func (k *Wanted) Len() int { return len(k.all()) }

// take returns what was not sent yet. If there is nothing, sending ends.
func (k *Wanted) take() map[string]mcphttp.Wants {
	k.mu.Lock()
	defer k.mu.Unlock()
	news := k.unsent
	k.unsent, k.sending = nil, len(news) > 0
	return news
}

// Keep gives the other replicas what the client of a session wants. It returns at
// once: the client does not wait for other replicas.
func (k *Wanted) Keep(id string, w mcphttp.Wants) {
	k.add(map[string]mcphttp.Wants{id: w})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.unsent == nil {
		k.unsent = make(map[string]mcphttp.Wants)
	}
	k.unsent[id] = w
	if !k.sending {
		k.sending = true
		go k.send()
	}
}

// send sends what is new to all other replicas, until there is no more. A replica
// that is not reached now asks for it when it starts.
func (k *Wanted) send() {
	for news := k.take(); len(news) > 0; news = k.take() {
		k.others.tellAll(wantsPath, news)
	}
}

const (
	// catchUpEvery is how often a new replica asks the others until one answers,
	// and catchUpFor how long.
	catchUpEvery = time.Second
	catchUpFor   = time.Minute
)

// CatchUp asks the other replicas what the clients of their sessions want, until
// one of them has answered.
func (k *Wanted) CatchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, catchUpFor)
	defer cancel()
	tick := time.NewTicker(catchUpEvery)
	defer tick.Stop()
	for {
		answered := false
		for _, r := range k.others.getAll(ctx, wantsPath, maxPage) {
			var news map[string]mcphttp.Wants
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
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(k.all()) // an error means that the caller has disconnected
		return
	}
	if news, ok := told[map[string]mcphttp.Wants](w, r); ok {
		k.add(news)
	}
}
