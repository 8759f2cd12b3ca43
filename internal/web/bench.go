package web

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/say"
)

const (
	maxBenches  = 32
	openTimeout = 60 * time.Second
)

var errTooManyBenches = say.Errorf("too many open sessions; close one first", "打开的会话过多；请先关闭一个")

// benches are the tester's open sessions. They live here, not in a page, so
// that tabs share them.
type benches struct {
	h *Handler

	mu   sync.Mutex
	byID map[string]*bench
}

// A bench is one open session.
type bench struct {
	h      *Handler
	id     string
	key    string // of the target as it was asked for
	target Target
	opened time.Time

	mu      sync.Mutex
	session BenchSession
	info    BenchInfo
	down    say.Text
	lists   map[string]json.RawMessage
	running map[string]*running
	lines   []string
}

// benchBody describes a session to the page.
type benchBody struct {
	ID     string    `json:"id"`
	Target Target    `json:"target"`
	Opened time.Time `json:"opened"`
	Info   BenchInfo `json:"info"`
	// Down says why the connection is gone.
	Down   string `json:"down,omitempty"`
	DownZH string `json:"downZH,omitempty"`
	// Lines is the end of the server's stderr.
	Lines []string `json:"lines,omitempty"`
}

func newBenches(h *Handler) *benches { return &benches{h: h, byID: map[string]*bench{}} }

// open connects, or returns the session that has the same target already.
func (b *benches) open(ctx context.Context, t Target, fresh bool) (*bench, error) {
	key := targetKey(t)
	b.mu.Lock()
	for _, x := range b.byID {
		if !fresh && x.key == key && x.alive() {
			b.mu.Unlock()
			return x, nil
		}
	}
	if len(b.byID) >= maxBenches {
		b.mu.Unlock()
		return nil, errTooManyBenches
	}
	b.mu.Unlock()

	x := &bench{h: b.h, id: newID(), key: key, target: t, opened: b.h.opt.Now(),
		lists: map[string]json.RawMessage{}, running: map[string]*running{}}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	session, err := b.h.opt.Bench.Open(ctx, &t, x.hooks())
	if err != nil {
		return x, err
	}
	x.mu.Lock()
	x.session, x.info = session, session.Info()
	x.mu.Unlock()
	b.mu.Lock()
	b.byID[x.id] = x
	b.mu.Unlock()
	b.tell()
	return x, nil
}

func targetKey(t Target) string {
	key, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and maps of strings
	}
	return string(key)
}

func (b *benches) get(id string) *bench {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byID[id]
}

func (b *benches) list() []benchBody {
	b.mu.Lock()
	all := make([]*bench, 0, len(b.byID))
	for _, x := range b.byID {
		all = append(all, x)
	}
	b.mu.Unlock()
	slices.SortFunc(all, func(x, y *bench) int {
		return cmp.Or(x.opened.Compare(y.opened), cmp.Compare(x.id, y.id))
	})
	out := make([]benchBody, len(all))
	for i, x := range all {
		out[i] = x.body()
	}
	return out
}

func (b *benches) close(id string) bool {
	b.mu.Lock()
	x := b.byID[id]
	delete(b.byID, id)
	b.mu.Unlock()
	if x == nil {
		return false
	}
	x.close()
	b.tell()
	return true
}

func (b *benches) closeAll() {
	b.mu.Lock()
	all := b.byID
	b.byID = map[string]*bench{}
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, x := range all {
		wg.Go(x.close)
	}
	wg.Wait()
}

func (b *benches) tell() { b.h.hub.publish("bench", benchEvent{Type: "sessions"}) }

func (x *bench) alive() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.down.Empty()
}

func (x *bench) close() {
	x.mu.Lock()
	for _, r := range x.running {
		r.cancel(errRunCancelled)
	}
	session := x.session
	x.mu.Unlock()
	if err := session.Close(); err != nil {
		x.h.opt.Log.Debug("closing a tester session", "err", err)
	}
}

// body describes the session; secrets of the target are masked.
func (x *bench) body() benchBody {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.target
	t.Env, t.Headers = masked(t.Env), masked(t.Headers)
	body := benchBody{ID: x.id, Target: t, Opened: x.opened, Info: x.info, Lines: slices.Clone(x.lines)}
	body.Down, body.DownZH = x.down.Both()
	return body
}

func masked(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k := range m {
		out[k] = Kept
	}
	return out
}
