package login

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// In a cluster the cookie is the login itself, sealed with the secret of the
// cluster, so that every replica accepts it. What the replicas have to know are
// the logins that have ended before their time. Each replica keeps all of them, in
// a file, and tells the others; a replica that was not reached asks for them.

const (
	sealedPrefix = "aio1."
	// maxSealed bounds a cookie; browsers accept 4,096 bytes with its name. A
	// longer login counts at one replica.
	maxSealed = 3800
	// maxEnded bounds what is kept. If there is more, all logins that are as old
	// as those that are dropped end.
	maxEnded = 4096
)

// A sealedLogin is the content of a cookie.
type sealedLogin struct {
	ID     string    `json:"id"`
	Issued time.Time `json:"issued"`
	grant
}

// The keys of what has ended: one login, those of one principal, all.
const (
	loginPrefix = "login:"
	whoPrefix   = "who:"
	allLogins   = "all"
)

// An ended ends the logins that were issued at a time or before.
type ended struct {
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"` // when it can be forgotten
}

// shared is what the replicas know of logins.
type shared struct {
	file string
	// known is closed when this replica knows which logins have ended.
	known chan struct{}

	mu    sync.Mutex
	ended map[string]ended
	// fresh is set while nothing is known: there was no file, and no other replica
	// has told.
	fresh bool
}

func (l *Logins) openShared() error {
	l.shared.ended, l.shared.known, l.shared.fresh = map[string]ended{}, make(chan struct{}), true
	if l.opt.StateDir == "" {
		return nil
	}
	l.shared.file = filepath.Join(l.opt.StateDir, "logouts.json")
	data, err := os.ReadFile(l.shared.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.shared.fresh = false
	if err == nil {
		err = json.Unmarshal(data, &l.shared.ended)
	}
	if err != nil { // a login that has ended must not begin again
		return i18n.Errorf("reading the logins that have ended: %w", "读取已退出的登录记录失败：%w", err)
	}
	return nil
}

// seal returns a login as a cookie; false if it has to count at this replica only.
func (l *Logins) seal(g grant) (string, bool) {
	if l.opt.Box == nil {
		return "", false
	}
	plain, err := json.Marshal(sealedLogin{rand.Text(), l.opt.Now(), g})
	if err != nil {
		return "", false
	}
	text := sealedPrefix + l.opt.Box.Seal(plain)
	return text, len(text) <= maxSealed
}

// open reads a cookie of a cluster.
func (l *Logins) open(cookie string) (s sealedLogin, ok bool) {
	text, ok := strings.CutPrefix(cookie, sealedPrefix)
	if !ok || l.opt.Box == nil {
		return s, false
	}
	plain, ok := l.opt.Box.Open(text)
	return s, ok && json.Unmarshal(plain, &s) == nil && s.ID != ""
}

// awaitKnown waits until this replica knows which logins have ended; false if ctx
// ends before.
func (l *Logins) awaitKnown(ctx context.Context) bool {
	if l.opt.Box == nil {
		return true
	}
	select {
	case <-l.shared.known:
		return true
	case <-ctx.Done():
		return false
	}
}

// counts reports whether a login has not ended.
func (l *Logins) counts(ctx context.Context, s sealedLogin) bool {
	if !l.awaitKnown(ctx) {
		return false
	}
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	for _, key := range []string{loginPrefix + s.ID, whoPrefix + s.Who.ID, allLogins} {
		if e, ok := l.shared.ended[key]; ok && !s.Issued.After(e.Issued) {
			return false
		}
	}
	return !l.opt.Now().After(s.Expires)
}

// endShared ends logins at all replicas, also if the client disconnects meanwhile.
func (l *Logins) endShared(ctx context.Context, key string, e ended) error {
	news := map[string]ended{key: e}
	err := l.add(news)
	body, failed := json.Marshal(news)
	if failed != nil {
		return failed
	}
	l.opt.Others(context.WithoutCancel(ctx), http.MethodPost, endedPath, body)
	return err
}

// add adds what has ended, and saves it.
func (l *Logins) add(news map[string]ended) error {
	s := &l.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	now, changed := l.opt.Now(), false
	for key, e := range news {
		old, known := s.ended[key]
		if now.After(e.Expires) || known && !e.Issued.After(old.Issued) && !e.Expires.After(old.Expires) {
			continue
		}
		if old.Issued.After(e.Issued) {
			e.Issued = old.Issued
		}
		if old.Expires.After(e.Expires) {
			e.Expires = old.Expires
		}
		s.ended[key], changed = e, true
	}
	if !changed {
		return nil
	}
	maps.DeleteFunc(s.ended, func(_ string, e ended) bool { return now.After(e.Expires) })
	for len(s.ended) > maxEnded {
		s.dropOldest()
	}
	return s.save()
}

// save writes the file, which later says that something is known. The caller holds
// the mutex.
func (s *shared) save() error {
	if s.file == "" || s.fresh {
		return nil
	}
	data, err := json.Marshal(s.ended)
	if err != nil {
		return err
	}
	return disk.Write(s.file, data, 0o600)
}

// dropOldest forgets one entry, and ends all logins of its time. The caller holds
// the mutex.
func (s *shared) dropOldest() {
	oldest := ""
	for key, e := range s.ended {
		if key != allLogins && (oldest == "" || e.Issued.Before(s.ended[oldest].Issued)) {
			oldest = key
		}
	}
	e := s.ended[oldest]
	delete(s.ended, oldest)
	all := s.ended[allLogins]
	if e.Issued.After(all.Issued) {
		s.ended[allLogins] = ended{e.Issued, e.Issued.Add(loginLife)}
	}
}

const (
	endedPath = "logins/ended"
	codePath  = "logins/code"
)

// PeerRoutes returns the routes for other replicas.
func (l *Logins) PeerRoutes() []api.Route {
	if l.opt.Box == nil {
		return nil
	}
	return []api.Route{
		api.NewRoute("GET", endedPath, api.ScopeAdmin, func(*api.Request) (any, error) {
			l.shared.mu.Lock()
			defer l.shared.mu.Unlock()
			if l.shared.fresh {
				return nil, nil
			}
			return maps.Clone(l.shared.ended), nil
		}),
		api.NewRoute("POST", endedPath, api.ScopeAdmin, api.Reading(func(_ *api.Request, news map[string]ended) (any, error) { return nil, l.add(news) })),
		api.NewRoute("POST", codePath, api.ScopeAdmin, api.Reading(func(_ *api.Request, code string) (any, error) {
			g, ok := l.take(code)
			if !ok {
				return nil, api.ErrNotFound
			}
			return g, nil
		})),
	}
}

// takeElsewhere is take for a code that another replica made.
func (l *Logins) takeElsewhere(ctx context.Context, code string) (g grant, ok bool) {
	if l.opt.Box == nil {
		return g, false
	}
	body, err := json.Marshal(code)
	if err != nil {
		return g, false
	}
	answers, _ := l.opt.Others(ctx, http.MethodPost, codePath, body)
	for _, answer := range answers {
		if json.Unmarshal(answer, &g) == nil && g.Who.ID != "" {
			return g, true
		}
	}
	return grant{}, false
}

// The times between two questions about what has ended: short at the start, until
// the other replicas are known.
const (
	firstAsk = 250 * time.Millisecond
	lastAsk  = 30 * time.Second
	// learnWait is how long logins wait for the other replicas.
	learnWait = 10 * time.Second
)

// Follow asks the other replicas which logins have ended, from time to time until
// ctx ends. Logins of a cluster wait for the first answers, for a bounded time.
// found waits until there are other replicas than before, or its context ends.
func (l *Logins) Follow(ctx context.Context, found func(context.Context)) {
	if l.opt.Box == nil {
		return
	}
	wait, over := context.WithTimeout(ctx, learnWait)
	defer over()
	known := false
	for pause := firstAsk; ; {
		asked := l.opt.Now()
		told := l.learn(ctx)
		if ctx.Err() != nil {
			return
		}
		if known = known || told || wait.Err() != nil; known {
			l.settle(asked)
			wait, pause = ctx, min(2*pause, lastAsk)
		}
		next, stop := context.WithTimeout(wait, pause)
		found(next)
		if next.Err() == nil {
			pause = firstAsk
		}
		stop()
	}
}

// learn asks the other replicas which logins have ended. It reports whether one of
// them has told it, or all have answered.
func (l *Logins) learn(ctx context.Context) bool {
	answers, done := l.opt.Others(ctx, http.MethodGet, endedPath, nil)
	for _, answer := range answers {
		if len(answer) == 0 { // nothing is known there
			continue
		}
		var news map[string]ended
		if err := json.Unmarshal(answer, &news); err != nil {
			l.opt.Log.Warn("logins that have ended at another replica", "err", err)
			continue
		}
		l.shared.mu.Lock()
		l.shared.fresh = false
		l.shared.mu.Unlock()
		if err := l.add(news); err != nil {
			l.opt.Log.Warn("logins that have ended were not saved", "err", err)
		}
		done = true
	}
	return done
}

// settle ends the wait for the other replicas, which were asked at a time. If nothing
// is known of the logins that have ended, all that were made before have.
func (l *Logins) settle(asked time.Time) {
	s := &l.shared
	select {
	case <-s.known:
		return
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		s.ended[allLogins], s.fresh = ended{asked, asked.Add(loginLife)}, false
	}
	if err := s.save(); err != nil {
		l.opt.Log.Warn("logins that have ended were not saved", "err", err)
	}
	close(s.known)
}
