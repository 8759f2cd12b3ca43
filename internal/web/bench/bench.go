// Package bench implements the tester's sessions in the console: it connects
// them, runs their calls, records the requests and sends events to the pages.
package bench

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
)

const (
	maxBenches = 256
	// benchShare is the maximum number of sessions of one principal.
	benchShare  = 32
	openTimeout = 60 * time.Second
	maxTarget   = 64 << 10 // bytes, as JSON
)

var errTooLate = i18n.Errorf("the key has ended", "API 密钥已失效")

var errLargeTarget = api.Refuse(http.StatusRequestEntityTooLarge, "too_large", i18n.New("a target has at most %d bytes", "target 最多 %d 字节", maxTarget))

var errTooManyBenches = i18n.Errorf("too many open sessions; close one first", "打开的会话过多；请先关闭一个")

// Options configure the tester's sessions.
type Options struct {
	Open Opener
	// Ask asks the user a question of a server.
	Ask func(ctx context.Context, q inbox.Question) (inbox.Answer, error)
	// History returns the history for the runs of an owner.
	History func(owner string) *history.History
	// Publish sends an event to the pages of a principal.
	Publish func(owner access.Principal, e Event)
	// Current returns the present state of a principal; false if its credential
	// is no longer valid.
	Current func(access.Principal) (access.Principal, bool)
	Log     *slog.Logger
}

// Benches holds the tester's open sessions. They belong to the gateway, not to
// a page, so that tabs share them. Benches may be used concurrently.
type Benches struct {
	opt Options
	ctx context.Context
	wg  sync.WaitGroup

	mu   sync.Mutex
	byID map[string]*bench
	// opening counts the sessions that are being opened, by principal.
	opening map[string]int
}

// A bench is one open session.
type bench struct {
	all    *Benches
	owner  access.Principal
	id     string
	key    string // identifies the requested target
	target Target
	opened time.Time

	mu      sync.Mutex
	session *probe.Session
	info    Info
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
	Info   Info      `json:"info"`
	// Down is why the connection was lost.
	Down   string `json:"down,omitempty"`
	DownZH string `json:"downZH,omitempty"`
	// Lines is the end of the server's stderr.
	Lines []string `json:"lines,omitempty"`
	Chaos Chaos    `json:"chaos,omitzero"`
}

// New returns Benches without an open session. Calls end when ctx is done.
func New(ctx context.Context, opt Options) *Benches {
	return &Benches{opt: opt, ctx: ctx, byID: map[string]*bench{}, opening: map[string]int{}}
}

// open opens a session. Unless fresh is set, it returns an existing session of
// the same principal with the same target.
func (b *Benches) open(ctx context.Context, who access.Principal, t Target, fresh bool) (*bench, error) {
	key, err := targetKey(t)
	if err != nil {
		return nil, err
	}
	open, err := b.reserve(who, key, fresh)
	if open != nil || err != nil {
		return open, err
	}
	x := &bench{all: b, owner: who, id: newID(), key: key, target: t, opened: time.Now(),
		lists: map[string]json.RawMessage{}, running: map[string]*running{}}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	session, err := b.opt.Open(ctx, who, &t, x.options())
	if err == nil {
		x.mu.Lock()
		x.session, x.info = session, infoOf(session.Info())
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
	if _, ok := b.opt.Current(who); !ok { // its credential became invalid meanwhile
		b.close(who, x.id)
		return nil, errTooLate
	}
	b.tell(x.owner)
	return x, nil
}

// reserve returns an existing session to share, or reserves a slot for a new
// one.
func (b *Benches) reserve(who access.Principal, key string, fresh bool) (*bench, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, all := b.opening[who.ID], len(b.byID)
	for _, n := range b.opening {
		all += n
	}
	for _, x := range b.byID {
		if who.ID != x.owner.ID {
			continue
		}
		if !fresh && x.key == key && who.MayResume(x.owner) && x.alive() {
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

// targetKey returns a key that is equal for equal targets, or an error for a
// target that is too large to be kept.
func targetKey(t Target) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // only strings and maps of strings
	}
	if len(text) > maxTarget {
		return "", errLargeTarget
	}
	sum := sha256.Sum256(text)
	return string(sum[:]), nil
}

// get returns an open session; nil if the principal may not act in it.
func (b *Benches) get(who access.Principal, id string) *bench {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.byID[id]; x != nil && who.MayResume(x.owner) {
		return x
	}
	return nil
}

// of returns the open sessions of a principal.
func (b *Benches) of(principal string) []*bench {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []*bench
	for _, x := range b.byID {
		if x.owner.ID == principal {
			list = append(list, x)
		}
	}
	return list
}

func (b *Benches) list(who access.Principal) []benchBody {
	all := slices.DeleteFunc(b.of(who.ID), func(x *bench) bool { return !who.MayResume(x.owner) })
	slices.SortFunc(all, func(x, y *bench) int {
		return cmp.Or(x.opened.Compare(y.opened), cmp.Compare(x.id, y.id))
	})
	out := make([]benchBody, len(all))
	for i, x := range all {
		out[i] = x.body()
	}
	return out
}

func (b *Benches) close(who access.Principal, id string) bool {
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
		b.tell(x.owner)
	}
	return open
}

// CloseOf closes the sessions of a principal.
func (b *Benches) CloseOf(principal string) {
	for _, x := range b.of(principal) {
		b.close(x.owner, x.id)
	}
}

// Close closes all sessions and waits for their calls.
func (b *Benches) Close() {
	b.mu.Lock()
	all := b.byID
	b.byID = map[string]*bench{}
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, x := range all {
		wg.Go(x.close)
	}
	wg.Wait()
	b.wg.Wait()
}

func (b *Benches) tell(owner access.Principal) { b.opt.Publish(owner, Event{Type: "sessions"}) }

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
	x.mu.Unlock()
	x.session.Close(context.Background())
}

// body describes the session. Secrets of the target are masked.
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

// newID returns an id that users can type on a command line. It does not look
// like a flag.
func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
