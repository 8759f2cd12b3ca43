package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

const (
	maxBenches = 256
	// benchShare is how many of them one principal may have.
	benchShare  = 32
	openTimeout = 60 * time.Second
)

var errTooLate = i18n.Errorf("the key has ended", "访问密钥已失效")

var errTooManyBenches = i18n.Errorf("too many open sessions; close one first", "打开的会话过多；请先关闭一个")

// benches are the tester's open sessions. They live here, not in a page, so
// that tabs share them.
type benches struct {
	h *Handler

	mu   sync.Mutex
	byID map[string]*bench
	// opening counts those that are not open yet, by principal.
	opening map[string]int
}

// A bench is one open session.
type bench struct {
	h      *Handler
	owner  access.Principal
	id     string
	key    string // of the target as it was asked for
	target Target
	opened time.Time

	mu      sync.Mutex
	session BenchSession
	info    BenchInfo
	down    i18n.Text
	lists   map[string]json.RawMessage
	running map[string]*running
	lines   []string
	chaos   Chaos
	awaited func(body []byte) bool
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
	Chaos Chaos    `json:"chaos,omitzero"`
}

func newBenches(h *Handler) *benches {
	return &benches{h: h, byID: map[string]*bench{}, opening: map[string]int{}}
}

// open connects, or returns the session of the same principal that has the same
// target already.
func (b *benches) open(ctx context.Context, who access.Principal, t Target, fresh bool) (*bench, error) {
	key := targetKey(t)
	open, err := b.reserve(who, key, fresh)
	if open != nil || err != nil {
		return open, err
	}
	x := &bench{h: b.h, owner: who, id: newID(), key: key, target: t, opened: b.h.opt.Now(),
		lists: map[string]json.RawMessage{}, running: map[string]*running{}}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	session, err := b.h.opt.Bench.Open(ctx, who, &t, x.hooks())
	if err == nil {
		x.mu.Lock()
		x.session, x.info = session, session.Info()
		x.mu.Unlock()
		x.shook()
	}
	b.mu.Lock()
	if b.opening[who.ID]--; b.opening[who.ID] <= 0 {
		delete(b.opening, who.ID)
	}
	if err == nil {
		b.byID[x.id] = x
	}
	b.mu.Unlock()
	if err != nil {
		return x, err
	}
	if _, ok := b.h.Logins.Current(who); !ok { // it ended meanwhile
		b.close(who, x.id)
		return nil, errTooLate
	}
	b.tell(who.ID)
	return x, nil
}

// reserve finds a session to share, or keeps a place for a new one.
func (b *benches) reserve(who access.Principal, key string, fresh bool) (*bench, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, all := b.opening[who.ID], len(b.byID)
	for _, n := range b.opening {
		all += n
	}
	for _, x := range b.byID {
		if !who.Owns(x.owner.ID) {
			continue
		}
		if !fresh && x.key == key && x.alive() {
			return x, nil
		}
		own++
	}
	if own >= benchShare || all >= maxBenches {
		return nil, errTooManyBenches
	}
	b.opening[who.ID]++
	return nil, nil
}

func targetKey(t Target) string {
	key, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and maps of strings
	}
	return string(key)
}

// get returns an open session of a principal; nil for one of somebody else.
func (b *benches) get(who access.Principal, id string) *bench {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.byID[id]; x != nil && who.Owns(x.owner.ID) {
		return x
	}
	return nil
}

// of are the open sessions of a principal.
func (b *benches) of(principal string) []*bench {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*bench
	for _, x := range b.byID {
		if x.owner.Owns(principal) {
			list = append(list, x)
		}
	}
	return list
}

func (b *benches) list(who access.Principal) []benchBody {
	all := b.of(who.ID)
	slices.SortFunc(all, func(x, y *bench) int {
		return cmp.Or(x.opened.Compare(y.opened), cmp.Compare(x.id, y.id))
	})
	out := make([]benchBody, len(all))
	for i, x := range all {
		out[i] = x.body()
	}
	return out
}

func (b *benches) close(who access.Principal, id string) bool {
	x := b.get(who, id)
	if x == nil {
		return false
	}
	b.mu.Lock()
	_, open := b.byID[id]
	delete(b.byID, id)
	b.mu.Unlock()
	if open {
		x.close()
		b.tell(who.ID)
	}
	return open
}

// closeOf closes the sessions of a principal.
func (b *benches) closeOf(principal string) {
	for _, x := range b.of(principal) {
		b.close(x.owner, x.id)
	}
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

func (b *benches) tell(owner string) { b.h.hub.publish("bench", owner, benchEvent{Type: "sessions"}) }

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
	body := benchBody{ID: x.id, Target: t, Opened: x.opened, Info: x.info, Lines: slices.Clone(x.lines), Chaos: x.chaos}
	body.Down, body.DownZH = x.down.Both()
	return body
}

func masked(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k := range m {
		out[k] = api.Kept
	}
	return out
}

// newID names a thing for people, who write it on a command line: it is no
// flag.
func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
