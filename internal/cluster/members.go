package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/seal"
)

const (
	// Life is how long a record lasts without renewal. A healthy replica must
	// survive a leader election in NATS, which takes up to 9 seconds.
	Life = 15 * time.Second
	// renewal is how often a replica renews its record.
	renewal = 2 * time.Second
	// patience limits one use of the engine.
	patience = 2 * time.Second
	// silence is how long the watch may fail to show our own record.
	silence = 2*renewal + patience
	// prefix is the prefix of the keys of members.
	prefix = "member/"
)

// A State says whether a replica is about to stop.
type State string

// The states.
const (
	Ready    State = "ready"
	Draining State = "draining"
)

// A Member is a replica as it describes itself.
type Member struct {
	Node    string            `json:"node"`
	Boot    string            `json:"boot"`
	Address string            `json:"address"`
	Carried bool              `json:"carried,omitempty"` // it has no peer port: the engine carries connections to it
	Version string            `json:"version"`
	Wire    int               `json:"wire,omitempty"`    // of Wire; absent means 1
	Config  string            `json:"config"`            // digest
	Secrets []string          `json:"secrets,omitempty"` // ids; the one that seals first
	Labels  map[string]string `json:"labels,omitempty"`
	Weight  int               `json:"weight,omitempty"` // how many servers it takes, relative to the others; absent means 1
	State   State             `json:"state"`
	Started time.Time         `json:"started"`
	// Rejected is the reason why it cannot use the shared configuration.
	Rejected   string `json:"configRejected,omitempty"`
	RejectedZH string `json:"configRejectedZH,omitempty"`
}

// A membership is the record of a member in the engine. The serial grows, so
// that an old record is recognised.
type membership struct {
	Member
	Serial uint64 `json:"serial"`
}

// Options are the options of Join.
type Options struct {
	Box *seal.Box // seals the records
	// Self returns the current description of this replica.
	Self func() Member
	// Reach returns the address at which this replica reaches another one; nil
	// for the address that the other one says.
	Reach func(Member) string
	// Open connects to the engine and may block for some time. The returned
	// function closes the connection.
	Open func() (Engine, func(), error)
	Log  *slog.Logger
}

// Members are the replicas that have a record in the engine. The list is kept
// while the engine is away.
type Members struct {
	opt   Options
	ctx   context.Context
	stop  context.CancelFunc
	soon  chan struct{} // has one element if the record must be written at once
	leave chan struct{} // closed when this replica leaves
	once  sync.Once
	done  chan struct{}

	// Used only by run.
	engine   Engine // the method Engine returns a copy of it (opened)
	revision uint64
	serial   uint64
	unwatch  context.CancelFunc // nil without a watch

	mu      sync.Mutex
	members map[string]Member // by node
	serials map[string]uint64 // last serial by boot id
	refused map[string]bool   // keys whose record was refused; true while there is one that we cannot open
	shown   time.Time         // when the watch last showed our own record, or started
	fates   fates
	opened  Engine
	renewed time.Time
	changes chan struct{} // closed and replaced at every change
	away    bool
	since   time.Time
	why     error
}

// Join adds this replica to the cluster and finds the others, until Close. It
// does not block. When ctx ends, the replica stops without removing its record.
func Join(ctx context.Context, opt Options) *Members {
	m := &Members{
		opt: opt, soon: make(chan struct{}, 1), leave: make(chan struct{}), done: make(chan struct{}),
		serials: map[string]uint64{}, refused: map[string]bool{}, away: true, since: time.Now(),
		fates:   fates{seen: map[string]time.Time{}, ended: map[string]bool{}, doubted: map[string]bool{}},
		changes: make(chan struct{}),
	}
	m.ctx, m.stop = context.WithCancel(ctx)
	go m.run()
	return m
}

// List returns the known replicas by name. It includes this one once the engine
// has its record.
func (m *Members) List() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.members), func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
}

// Addresses returns the addresses of the known replicas.
func (m *Members) Addresses() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]string, 0, len(m.members))
	for _, one := range m.members {
		list = append(list, one.Address)
	}
	return list
}

// Unopened returns how many records of replicas there are that were not sealed
// with our secret.
func Unopened(m *Members) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, unopened := range m.refused {
		if unopened {
			n++
		}
	}
	return n
}

// Agreement reports whether the engine is away, since when it is away or
// reached, and why.
func (m *Members) Agreement() (away bool, since time.Time, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.away, m.since, m.why
}

// Changed makes the replica write its current description soon.
func (m *Members) Changed() {
	select {
	case m.soon <- struct{}{}:
	default:
	}
}

// Close removes this replica from the cluster.
func (m *Members) Close() {
	m.once.Do(func() { close(m.leave) })
	<-m.done
}

func (m *Members) run() {
	defer close(m.done)
	defer m.stop()
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	var closeEngine func()
	for {
		if m.engine == nil {
			var err error
			if m.engine, closeEngine, err = m.opt.Open(); err != nil {
				m.lost(err)
			} else {
				defer closeEngine()
				m.setEngine(m.engine)
			}
		}
		if m.engine != nil {
			m.round()
		}
		select {
		case <-tick.C:
		case <-m.soon:
		case <-m.ctx.Done():
			return
		case <-m.leave:
			m.farewell()
			return
		}
	}
}

// round renews the record and checks the watch.
func (m *Members) round() {
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	err := m.renew(ctx)
	if err == nil && m.unwatch != nil && m.silent() {
		m.lost(i18n.Errorf("the engine does not return what was written", "引擎没有返回已写入的内容"))
		m.unwatch()
		m.unwatch = nil
	}
	if err == nil && m.unwatch == nil {
		err = m.watch()
	}
	if err != nil && m.ctx.Err() == nil {
		m.lost(err)
	}
}

func (m *Members) silent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.shown) > silence
}

// renew writes our record.
func (m *Members) renew(ctx context.Context) error {
	m.serial++
	began := time.Now()
	self := m.opt.Self()
	key := prefix + self.Node
	plain, err := json.Marshal(membership{self, m.serial})
	if err != nil {
		return err
	}
	data := []byte(m.opt.Box.SealAs(key, plain))
	revision, err := m.engine.Put(ctx, Live, key, data, m.revision, Life)
	if errors.Is(err, ErrConflict) {
		if revision, err = m.standing(ctx, &self, key); err == nil {
			revision, err = m.engine.Put(ctx, Live, key, data, revision, Life)
		}
	}
	if err == nil {
		m.revision = revision
		m.noteRenewal(began)
	}
	return err
}

// standing returns the revision of the record under our name, which is ours or
// that of an earlier run. It returns an error if another replica has our name.
func (m *Members) standing(ctx context.Context, self *Member, key string) (uint64, error) {
	v, err := m.engine.Get(ctx, Live, key)
	if errors.Is(err, ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r, ok := m.open(v); ok && r.Boot != self.Boot && r.Started.After(self.Started) {
		return 0, i18n.Errorf("another replica is called %s too, at %s: set cluster.node", "另一个副本也叫 %s，位于 %s：请设置 cluster.node", self.Node, r.Address)
	}
	return v.Revision, nil
}

// open decodes a record that was sealed with the secret under this key.
func (m *Members) open(v Value) (r membership, ok bool) {
	plain, ok := m.opt.Box.OpenAs(v.Key, string(v.Data))
	return r, ok && json.Unmarshal(plain, &r) == nil && prefix+r.Node == v.Key
}

// farewell removes our record, so that the others need not wait until it
// expires.
func (m *Members) farewell() {
	if m.revision == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	if err := m.engine.Delete(ctx, Live, prefix+m.opt.Self().Node, m.revision); err != nil {
		m.opt.Log.Debug("leaving the cluster", "err", err)
	}
}
