package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// A Store keeps named texts secret.
type Store interface {
	Get(name string) (string, error)
	Set(name, value string) error
	Delete(name string) error
	List() ([]string, error)
}

// Options configures a Keeper.
type Options struct {
	// Dir is the folder of the tokens. Processes that share it notice each
	// other's changes.
	Dir string
	// Store holds the tokens; nil means an encrypted file in Dir.
	Store Store
	// Documents are the documents that other replicas share; nil if there are none.
	Documents Documents
	Log       *slog.Logger
	// OnSignIn is called when a required sign-in may have happened, in this or
	// another process. It may be nil.
	OnSignIn func()
	// OnSignOut is called when another process has ended the sign-in of a user to
	// a server. server is the ID. OnSignOut may be nil, and must not use the
	// keeper.
	OnSignOut func(server, user string)
}

// A Keeper holds the grants of all servers. It reads nothing before the first
// request to a server over HTTP.
type Keeper struct {
	opt  Options
	life context.Context
	kill context.CancelFunc
	wg   sync.WaitGroup
	// none is the time, in ticks, until which there are known to be no grants at
	// all. That is the case in most processes, and makes lookup cheap.
	none atomic.Int64

	mu      sync.Mutex
	grants  []*grant // immutable once they are here
	read    bool
	mark    time.Time // mark is the modification time of the marker at the last read
	looked  time.Time // when the marker was last checked
	flights map[*grant]*flight
	waiting bool // a goroutine polls for a sign-in
}

// NewKeeper returns a keeper that lives until ctx ends.
func NewKeeper(ctx context.Context, opt Options) *Keeper {
	own := opt
	if opt.Store = own.store(); opt.Documents != nil {
		opt.Store = &sharedStore{opt.Store, &own}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	k := &Keeper{opt: opt, flights: make(map[*grant]*flight)}
	k.life, k.kill = context.WithCancel(ctx)
	return k
}

// Close ends the keeper and waits for its goroutines.
func (k *Keeper) Close() {
	k.kill()
	k.wg.Wait()
}

// A Status describes a grant without its secrets.
type Status struct {
	Server  string    `json:"server"`
	User    string    `json:"user,omitempty"`
	Issuer  string    `json:"issuer"`
	Client  string    `json:"client"`
	Scopes  []string  `json:"scopes,omitempty"`
	Wanted  []string  `json:"wanted,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	// Renews says that the token is refreshed without another sign-in.
	Renews bool `json:"renews"`
	// Revoked says that the user must sign in again.
	Revoked bool `json:"revoked,omitempty"`
}

func (g *grant) status() Status {
	return Status{
		Server: g.Server, User: g.User, Issuer: g.Issuer, Client: g.Client.ID, Scopes: g.Scopes, Wanted: g.Wanted,
		Expires: g.Expiry, Renews: g.Refresh != "", Revoked: g.Revoked,
	}
}

// Statuses returns the status of all grants, or of the grants of one server if s
// is not nil.
func (k *Keeper) Statuses(s *config.Server) []Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	list := []Status{}
	for _, g := range k.grants {
		if s == nil || g.Server == s.ID() {
			list = append(list, g.status())
		}
	}
	key := func(i int) string { return list[i].Server + "\x00" + list[i].User + "\x00" + list[i].Issuer }
	sort.Slice(list, func(i, j int) bool { return key(i) < key(j) })
	return list
}

func (k *Keeper) marker() string { return marker(k.opt.Dir) }

// lookEvery limits how often a missing grant is looked for.
const lookEvery = time.Second

// findLocked returns the newest grant of a user for a server at its current URL,
// or nil.
func (k *Keeper) findLocked(s *config.Server, user string) *grant {
	var found *grant
	for _, g := range k.grants {
		if g.Server == s.ID() && g.User == user && g.URL == s.URL && (found == nil || g.Obtained.After(found.Obtained)) &&
			(s.Auth.Issuer == "" || sameIssuer(s.Auth.Issuer, g.Issuer)) {
			found = g
		}
	}
	return found
}

// lookup returns the grant to use, or nil. If there is none, another process may
// have created it meanwhile, so lookup checks the store.
func (k *Keeper) lookup(s *config.Server, user string) *grant {
	if ticks() < k.none.Load() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.findLocked(s, user)
	if (g == nil || g.Revoked) && time.Since(k.looked) > lookEvery {
		k.loadLocked()
		g = k.findLocked(s, user)
	}
	if k.read && len(k.grants) == 0 {
		k.none.Store(ticks() + int64(lookEvery-time.Since(k.looked)))
	}
	return g
}

var start = time.Now()

func ticks() int64 { return int64(time.Since(start)) }

// before returns the grant of an earlier sign-in at the same issuer; an empty one
// if there is none.
func (k *Keeper) before(s *config.Server, user, issuer string) *grant {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	for _, g := range k.grants {
		if g.Server == s.ID() && g.User == user && g.URL == s.URL && g.Issuer == issuer {
			return g
		}
	}
	return &grant{}
}

// loadLocked reads the grants again if they have changed since the last read.
func (k *Keeper) loadLocked() {
	k.none.Store(0)
	k.looked = time.Now()
	mark := modified(k.marker())
	if k.read && mark.Equal(k.mark) {
		return
	}
	names, err := k.opt.Store.List()
	if err != nil {
		k.opt.Log.Warn("reading tokens", "err", err)
		return
	}
	before := k.grants
	defer func() { k.missLocked(before) }()
	k.read, k.mark = true, mark
	k.grants = nil
	for _, name := range names {
		text, err := k.opt.Store.Get(name)
		g := new(grant)
		if err == nil {
			err = json.Unmarshal([]byte(text), g)
		}
		if err != nil {
			k.opt.Log.Warn("reading a token", "name", name, "err", err)
			continue
		}
		k.grants = append(k.grants, g)
	}
}

// missLocked calls OnSignOut for the grants in before that do not exist any more.
func (k *Keeper) missLocked(before []*grant) {
	for _, g := range before {
		same := func(now *grant) bool { return now.Server == g.Server && now.User == g.User }
		if k.opt.OnSignOut != nil && !slices.ContainsFunc(k.grants, same) {
			k.opt.OnSignOut(g.Server, g.User)
		}
	}
}

// Read reads the grants again, so that sign-ins and sign-outs of other processes
// take effect.
func (k *Keeper) Read() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// keep stores a grant. It replaces the grant of the same server, user and issuer.
func (k *Keeper) keep(g *grant) (Status, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return Status{}, i18n.Errorf("keeping the token: %w", "保存令牌失败：%w", err)
	}
	err = k.opt.Store.Set(g.name(), string(text))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.none.Store(0)
	k.grants = append(slices.DeleteFunc(slices.Clone(k.grants), func(old *grant) bool { return old.name() == g.name() }), g)
	if err != nil {
		return g.status(), i18n.Errorf("keeping the token: %w", "保存令牌失败：%w", err)
	}
	k.touchLocked()
	return g.status(), nil
}

// forget removes the grants of a user for a server and returns them. If other
// replicas cannot be told to remove a grant, that grant stays.
func (k *Keeper) forget(s *config.Server, user string) ([]*grant, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.loadLocked()
	var gone []*grant
	var stays *record.NoAgreement
	k.grants = slices.DeleteFunc(slices.Clone(k.grants), func(g *grant) bool {
		if g.Server != s.ID() || g.User != user {
			return false
		}
		if err := k.opt.Store.Delete(g.name()); errors.As(err, &stays) {
			return false
		} else if err != nil {
			k.opt.Log.Warn("forgetting a token", "upstream", g.Server, "err", err)
		}
		gone = append(gone, g)
		return true
	})
	if len(gone) > 0 {
		k.touchLocked()
	}
	if stays != nil {
		return gone, stays
	}
	return gone, nil
}

// touchLocked tells other processes that a grant changed.
func (k *Keeper) touchLocked() {
	if touch(k.opt.Dir) == nil {
		k.mark, k.looked = modified(k.marker()), time.Now()
	}
}

// name returns the grant's name in the store.
func (g *grant) name() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{g.Server, g.User, g.Issuer, g.URL}, "\x00")))
	return "grant-" + hex.EncodeToString(sum[:16])
}

// await starts to poll for a sign-in by another process.
func (k *Keeper) await() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.waiting || k.opt.OnSignIn == nil || k.life.Err() != nil {
		return
	}
	k.waiting = true
	since := modified(k.marker())
	k.wg.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-k.life.Done():
				return
			case <-tick.C:
			}
			if !modified(k.marker()).Equal(since) {
				break
			}
		}
		k.mu.Lock()
		k.waiting = false
		k.loadLocked()
		k.mu.Unlock()
		k.opt.OnSignIn()
	})
}
