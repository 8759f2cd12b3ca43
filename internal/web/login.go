package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

const (
	codeLife  = 10 * time.Minute
	loginLife = 30 * 24 * time.Hour
	maxCodes  = 16
	maxLogins = 256

	cookieName       = "aio_s"
	cookieNameSecure = "__Host-aio_s"
)

// logins knows the one-time codes and the sessions they became, by hash.
type logins struct {
	now  func() time.Time
	file string

	mu       sync.Mutex
	codes    map[string]grant
	sessions map[string]grant
	guesses  guesses
}

// A grant is a principal that logs in, or has. It is asked for its rights anew
// at every request.
type grant struct {
	Who     access.Principal `json:"who"`
	Expires time.Time        `json:"expires"`
}

// newGrant ends with the credential of the principal at the latest.
func newGrant(who access.Principal, expires time.Time) grant {
	if !who.Expires.IsZero() && who.Expires.Before(expires) {
		expires = who.Expires
	}
	return grant{who, expires}
}

func openLogins(dir string, now func() time.Time) (*logins, error) {
	l := &logins{now: now, codes: map[string]grant{}, sessions: map[string]grant{}}
	if dir == "" {
		return l, nil
	}
	l.file = filepath.Join(dir, "logins.json")
	data, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, i18n.Errorf("reading logins: %w", "读取登录记录失败：%w", err)
	}
	if json.Unmarshal(data, &l.sessions) != nil {
		// Whoever was logged in logs in again.
		l.sessions = map[string]grant{}
	}
	return l, nil
}

// newID names a thing for people, who write it on a command line: it is no
// flag.
func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (l *logins) newCode(who access.Principal) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	expire(l.codes, l.now(), maxCodes-1)
	code := rand.Text()
	l.codes[hashOf(code)] = newGrant(who, l.now().Add(codeLife))
	return code
}

// expire removes what is over, and the oldest until at most keep are left.
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

// redeem trades a code for a session. Source is where it came from.
func (l *logins) redeem(code, source string) (session string, who access.Principal, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.guesses.tooMany(source, now) {
		return "", access.Principal{}, errTooMany
	}
	key := hashOf(code)
	g, ok := l.codes[key]
	if !ok || now.After(g.Expires) {
		l.guesses.add(source, now)
		return "", access.Principal{}, errWrongCode
	}
	delete(l.codes, key)
	expire(l.sessions, now, maxLogins-1)
	session = rand.Text()
	l.sessions[hashOf(session)] = newGrant(g.Who, now.Add(loginLife))
	return session, g.Who, l.saveLocked()
}

func (l *logins) identify(r *http.Request) (access.Principal, bool) {
	c, err := r.Cookie(cookieFor(r))
	if err != nil {
		return access.Principal{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g, ok := l.sessions[hashOf(c.Value)]
	return g.Who, ok && !l.now().After(g.Expires)
}

func (l *logins) end(r *http.Request) error {
	c, err := r.Cookie(cookieFor(r))
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, hashOf(c.Value))
	return l.saveLocked()
}

func (l *logins) clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.sessions)
	clear(l.codes)
	return l.saveLocked()
}

// drop ends the logins of a principal, and its codes.
func (l *logins) drop(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, grants := range []map[string]grant{l.codes, l.sessions} {
		maps.DeleteFunc(grants, func(_ string, g grant) bool { return g.Who.Owns(id) })
	}
	return l.saveLocked()
}

// saveLocked writes the hashes; the file is small and changes at logins only.
func (l *logins) saveLocked() error {
	if l.file == "" {
		return nil
	}
	data, err := json.Marshal(l.sessions)
	if err != nil {
		return err
	}
	return writeFile(l.file, data)
}

func cookieFor(r *http.Request) string {
	if r.TLS != nil {
		return cookieNameSecure
	}
	return cookieName
}

func (h *Handler) postLogin(w http.ResponseWriter, r *api.Request) {
	var body struct {
		Code string `json:"code"`
	}
	if !r.Read(w, &body) {
		return
	}
	session, who, err := h.logins.redeem(body.Code, sourceOf(r.RemoteAddr))
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "60")
		api.Fail(w, r.Request, http.StatusTooManyRequests, "too_many", i18n.Why(err))
		return
	case errors.Is(err, errWrongCode):
		api.Fail(w, r.Request, http.StatusUnauthorized, "code", i18n.Why(err))
		return
	case err != nil:
		h.opt.Log.Warn("login not saved", "err", err)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Request), Value: session, Path: "/", HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode, MaxAge: int(loginLife.Seconds())})
	api.Reply(w, http.StatusOK, h.sessionOf(who))
}

func (h *Handler) postLogout(w http.ResponseWriter, r *api.Request) {
	if err := h.logins.end(r.Request); err != nil {
		h.opt.Log.Warn("logout not saved", "err", err)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieFor(r.Request), Path: "/", HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode, MaxAge: -1})
	w.WriteHeader(http.StatusNoContent)
}

type sessionBody struct {
	Name     string `json:"name"`
	Scope    string `json:"scope"`
	Version  string `json:"version"`
	Endpoint string `json:"endpoint"`
}

func (h *Handler) sessionOf(who access.Principal) sessionBody {
	return sessionBody{who.Name, api.ScopeOf(who), h.opt.Version, h.opt.Endpoint}
}

func (h *Handler) getSession(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, h.sessionOf(r.Who))
}

func (h *Handler) postCode(w http.ResponseWriter, r *api.Request) {
	api.Reply(w, http.StatusOK, map[string]string{"code": h.NewCode(r.Who)})
}
