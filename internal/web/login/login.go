// Package login authenticates requests to the console: a person logs in with a
// one-time code, a program uses a bearer token.
package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/seal"
)

const (
	codeLife  = 10 * time.Minute
	loginLife = 30 * 24 * time.Hour
	maxCodes  = 16
	maxLogins = 256

	cookieName       = "aio_s"
	cookieNameSecure = "__Host-aio_s"
)

// Options configure the logins.
type Options struct {
	// StateDir is the directory that keeps logins across restarts; "" keeps
	// them in memory.
	StateDir string
	// Box seals logins, so that all replicas of a cluster accept them; nil
	// without a cluster.
	Box *seal.Box
	// Others sends a request to all other replicas, with a time limit, and
	// returns the responses of those that accepted it. It reports whether these
	// are all that there are.
	Others func(ctx context.Context, method, path string, body []byte) (answers [][]byte, all bool)
	// Bearer identifies the principal of a request with an Authorization
	// header; false rejects the request. A nil Bearer rejects all such
	// requests.
	Bearer func(r *http.Request) (access.Principal, bool)
	// Current returns the present state of a principal that logged in before;
	// false ends the login. A nil Current leaves the principal unchanged.
	Current func(access.Principal) (access.Principal, bool)
	// Endpoint and Version are shown after login.
	Endpoint, Version string
	Log               *slog.Logger
	// Now returns the current time.
	Now func() time.Time
}

// Logins holds the hashes of one-time codes and of the sessions they were
// exchanged for. It may be used concurrently.
type Logins struct {
	opt  Options
	file string

	mu       sync.Mutex
	codes    map[string]grant
	sessions map[string]grant
	guesses  guesses
	shared   shared
}

// A grant lets a principal log in, or is its login. The rights of the principal
// are checked again at every request.
type grant struct {
	Who     access.Principal `json:"who"`
	Expires time.Time        `json:"expires"`
}

// newGrant returns a grant that ends at expires, or when the credential of the
// principal expires if that is earlier.
func newGrant(who access.Principal, expires time.Time) grant {
	if !who.Expires.IsZero() && who.Expires.Before(expires) {
		expires = who.Expires
	}
	return grant{who, expires}
}

// Open reads the saved logins.
func Open(opt Options) (*Logins, error) {
	l := &Logins{opt: opt, codes: map[string]grant{}, sessions: map[string]grant{}}
	if opt.Box != nil {
		if err := l.openShared(); err != nil {
			return nil, err
		}
	}
	if opt.StateDir == "" {
		return l, nil
	}
	l.file = filepath.Join(opt.StateDir, "logins.json")
	data, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, i18n.Errorf("reading logins: %w", "读取登录记录失败：%w", err)
	}
	if json.Unmarshal(data, &l.sessions) != nil {
		// All users have to log in again.
		l.sessions = map[string]grant{}
	}
	return l, nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// NewCode returns a one-time code for logging in as a principal. It is valid
// until it is used, at most ten minutes.
func (l *Logins) NewCode(who access.Principal) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	expire(l.codes, l.opt.Now(), maxCodes-1)
	code := rand.Text()
	l.codes[hashOf(code)] = newGrant(who, l.opt.Now().Add(codeLife))
	return code
}

// expire removes expired grants, and the oldest grants until at most keep are
// left.
func expire(grants map[string]grant, now time.Time, keep int) {
	for k, g := range grants {
		if now.After(g.Expires) {
			delete(grants, k)
		}
	}
	for len(grants) > keep {
		var oldest string
		for k, g := range grants {
			if oldest == "" || g.Expires.Before(grants[oldest].Expires) {
				oldest = k
			}
		}
		delete(grants, oldest)
	}
}

var (
	errWrongCode = i18n.Errorf("this code was used already or is too old; run: mcp-all-in-one ui", "登录码已使用或已过期；请运行：mcp-all-in-one ui")
	errTooMany   = i18n.Errorf("too many wrong codes from this address; wait a minute", "来自此地址的错误登录码过多；请稍等一分钟")
)

// redeem exchanges a code for a session. source is the client's address.
func (l *Logins) redeem(ctx context.Context, code, source string) (session string, who access.Principal, err error) {
	now := l.opt.Now()
	l.mu.Lock()
	wait := l.guesses.tooMany(source, now)
	if !wait {
		l.guesses.add(source, now) // at once, so that guesses at the same time count too
	}
	l.mu.Unlock()
	if wait {
		return "", access.Principal{}, errTooMany
	}
	l.awaitKnown(ctx)
	g, ok := l.take(code)
	if !ok {
		g, ok = l.takeElsewhere(ctx, code)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !ok {
		return "", access.Principal{}, errWrongCode
	}
	l.guesses.remove(source)
	login := newGrant(g.Who, now.Add(loginLife))
	if session, ok := l.seal(login); ok {
		return session, g.Who, nil
	}
	expire(l.sessions, now, maxLogins-1)
	session = rand.Text()
	l.sessions[hashOf(session)] = login
	return session, g.Who, l.saveLocked()
}

// take returns the grant of a code, which is then used.
func (l *Logins) take(code string) (grant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := hashOf(code)
	g, ok := l.codes[key]
	if !ok || l.opt.Now().After(g.Expires) {
		return grant{}, false
	}
	delete(l.codes, key)
	return g, true
}

// Identify returns the principal of a request, from a bearer token or the
// cookie of a login.
func (l *Logins) Identify(r *http.Request) (access.Principal, bool) {
	if r.Header.Get("Authorization") != "" {
		if l.opt.Bearer == nil {
			return access.Principal{}, false
		}
		return l.opt.Bearer(r)
	}
	who, ok := l.session(r)
	if !ok {
		return access.Principal{}, false
	}
	return l.Current(who)
}

// Current returns the present state of a principal that was authenticated
// before; false if its credential is no longer valid.
func (l *Logins) Current(who access.Principal) (access.Principal, bool) {
	if l.opt.Current != nil {
		return l.opt.Current(who)
	}
	return who, who.ID != ""
}

// session returns the principal of a session cookie.
func (l *Logins) session(r *http.Request) (access.Principal, bool) {
	c, err := r.Cookie(cookieFor(r))
	if err != nil {
		return access.Principal{}, false
	}
	if sealed, ok := l.open(c.Value); ok {
		return sealed.Who, l.counts(r.Context(), sealed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.sessions[hashOf(c.Value)]
	return g.Who, ok && !l.opt.Now().After(g.Expires)
}

func (l *Logins) end(r *http.Request) error {
	c, err := r.Cookie(cookieFor(r))
	if err != nil {
		return nil
	}
	if sealed, ok := l.open(c.Value); ok {
		return l.endShared(r.Context(), loginPrefix+sealed.ID, ended{sealed.Issued, sealed.Expires})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, hashOf(c.Value))
	return l.saveLocked()
}

// Drop ends the logins of a principal and invalidates its codes. It does so also if
// that cannot be saved.
func (l *Logins) Drop(id string) error {
	var failed error
	if l.opt.Box != nil {
		now := l.opt.Now()
		// The other replicas notice by themselves, or ask for it.
		failed = l.add(map[string]ended{whoPrefix + id: {now, now.Add(loginLife)}})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, grants := range []map[string]grant{l.codes, l.sessions} {
		maps.DeleteFunc(grants, func(_ string, g grant) bool { return g.Who.ID == id })
	}
	return errors.Join(failed, l.saveLocked())
}

// saveLocked writes the hashes. The file is small and changes only at logins.
func (l *Logins) saveLocked() error {
	if l.file == "" {
		return nil
	}
	data, err := json.Marshal(l.sessions)
	if err != nil {
		return err
	}
	return disk.Write(l.file, data, 0o600)
}

func cookieFor(r *http.Request) string {
	if r.TLS != nil {
		return cookieNameSecure
	}
	return cookieName
}
