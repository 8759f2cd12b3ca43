package instance

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway/modern"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/rate"
	"mcp-all-in-one/internal/seal"
)

// joinCluster makes this gateway a replica if the configuration says so. It
// returns the ring that seals handles, and the name of this process in them.
func joinCluster(in *Instance, o Options) (*seal.Ring, string, error) {
	c := &o.Config.Cluster
	if !c.Enabled() || o.Schema != "" { // on stdio the only client can reach no other replica
		return nil, "", nil
	}
	ring, err := seal.NewRing(c.Name, c.Secrets()...)
	if err != nil {
		return nil, "", err
	}
	in.records, in.LoginBox = ring.Box(seal.Record), ring.Box(seal.Login)
	in.secrets = ring.IDs()
	found := func() []string {
		if m := in.Members.Load(); m != nil {
			return m.Addresses()
		}
		return nil
	}
	var ended func(context.Context, peer.Owner) bool
	if c.Agrees() {
		ended = func(ctx context.Context, o peer.Owner) bool {
			m := in.Members.Load()
			return m == nil || cluster.Ended(ctx, m, o.Node, o.Boot)
		}
	}
	in.Held = rate.NewSessions()
	advertise := c.Advertise
	if c.Carried() {
		advertise = peer.CarriedAddress(c.Node)
	}
	in.Cluster, err = peer.New(peer.Options{
		Cluster: c.Name, Node: c.Node, Advertise: advertise, Carry: in.Shared.carry(), Members: c.Members, Ring: ring, HandleOwner: modern.HandleOwner,
		Found: found, Describe: func() any { return in.Member() },
		Drain: func() error { return drain(in) }, Rebalance: func() any { return in.placer.rebalance() }, Holds: in.placer.holds,
		Ended: ended, Kept: func(ctx context.Context, o kept.Owner, uri string) (kept.Result, error) {
			return in.Gateway.Kept.Get(ctx, o, uri)
		},
		Stranger: func(from net.Addr) { in.strangers.Add("", from.String()) }, Spent: in.rates.Spend, Held: in.Held.Hear, WriteIdle: o.Config.Limits.WriteIdle, Log: o.Log,
	})
	if err != nil {
		return nil, "", err
	}
	in.rates.Share(in.Cluster.Others.Spent)
	return ring, in.Cluster.Owner().String(), nil
}

// fetcher returns what gets results that other replicas have kept; nil without a
// cluster.
func fetcher(in *Instance) func(ctx context.Context, replica string, owner kept.Owner, uri string) (kept.Result, error) {
	if in.Cluster == nil {
		return nil
	}
	return func(ctx context.Context, replica string, owner kept.Owner, uri string) (kept.Result, error) {
		return peer.FetchKept(ctx, in.Cluster, replica, owner, uri)
	}
}

// Member describes this replica to the others.
func (in *Instance) Member() cluster.Member {
	c, self := &in.Config.Cluster, in.Cluster.Owner()
	state := cluster.Ready
	if in.Draining.Load() {
		state = cluster.Draining
	}
	m := cluster.Member{
		Node: self.Node, Boot: self.Boot, Address: self.Address, Carried: c.Carried(), Version: mcp.ProductVersion, Wire: cluster.Wire(), Config: in.digest.of(in.Set.Snapshot().Config),
		Secrets: in.secrets, Labels: c.Labels, Weight: cmp.Or(c.Weight, runtime.NumCPU()), State: state, Started: in.Started,
	}
	if err := in.Shared.Rejected(); err != nil {
		m.Rejected, m.RejectedZH = i18n.Why(err).Both()
	}
	return m
}

// TellMembers sends the state of this replica to the others soon.
func TellMembers(in *Instance) {
	if m := in.Members.Load(); m != nil {
		m.Changed()
	}
}

// A digest caches the digest of the configuration that was read last.
type digest struct {
	mu   sync.Mutex
	read *config.Config
	text string
}

func (d *digest) of(cfg *config.Config) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read != cfg {
		d.read, d.text = cfg, cfg.Digest()
	}
	return d.text
}

// FindMembers starts the discovery of the other replicas, if there is an
// engine. It returns at once.
func FindMembers(ctx context.Context, in *Instance) {
	if in.Cluster == nil || in.Shared == nil {
		return
	}
	in.Members.Store(cluster.Join(context.WithoutCancel(ctx), cluster.Options{
		Box: in.records, Self: in.Member, Log: in.Log,
		Reach: func(m cluster.Member) string { return reach(in, &m) },
		Open: func() (cluster.Engine, func(), error) {
			e, err := in.Shared.engine.open()
			return e, func() {}, err
		},
	}))
	in.placer.open(context.WithoutCancel(ctx), in.Members.Load())
}

// Listed reports whether all other replicas are known: those in the file are, and
// those of an engine once it lists them.
func Listed(in *Instance) bool {
	m := in.Members.Load()
	return m == nil || cluster.Listed(m)
}

// Found returns a function that waits until the engine lists other replicas than at
// the last call, or its context ends.
func Found(in *Instance) func(context.Context) {
	m := in.Members.Load()
	if m == nil {
		return func(ctx context.Context) { <-ctx.Done() }
	}
	var list []cluster.Member
	return func(ctx context.Context) { list = cluster.AwaitOthers(ctx, m, list) }
}

// reach returns the address at which this replica reaches another one.
func reach(in *Instance, m *cluster.Member) string {
	return peer.Reach(in.Cluster, peer.Owner{Node: m.Node, Boot: m.Boot, Address: m.Address})
}

// ClusterStatus asks all replicas for their state.
func ClusterStatus(ctx context.Context, in *Instance) cluster.Status {
	c := &in.Config.Cluster
	s := cluster.Status{Cluster: c.Name, Node: c.Node, Engine: cluster.EngineStatus{Name: c.Engine, State: cluster.EngineNone}}
	var known []cluster.Member
	if m := in.Members.Load(); m != nil {
		known, s.Engine.Shared, s.Engine.Unopened = m.List(), in.Shared.Count(), cluster.Unopened(m)
		away, since, why := m.Agreement()
		s.Engine.State, s.Engine.Since = cluster.EngineReached, since
		if away {
			s.Engine.State = cluster.EngineAway
		}
		if why != nil {
			s.Engine.Error, s.Engine.ErrorZH = i18n.Why(why).Both()
		}
	}
	var answers []cluster.Answer
	for _, r := range in.Cluster.Others.Roll(ctx) {
		a := cluster.Answer{Name: r.Name, Address: r.Address, Err: r.Err}
		if !r.Date.IsZero() {
			a.Skew = time.Since(r.Date)
		}
		if a.Err == nil {
			a.Err = json.Unmarshal(r.Text, &a.Member)
		}
		answers = append(answers, a)
	}
	s.Shares = in.Shared.SharesConfig()
	s.Members = cluster.Compose(in.Member(), known, answers)
	checkAnnounced(ctx, in, &s, answers)
	if k := in.placer.get(); k != nil {
		s.Placed = k.List()
	}
	return s
}

// checkAnnounced marks replicas that answered at other addresses only than the one
// that they announce. Sessions and servers are looked for at that one.
func checkAnnounced(ctx context.Context, in *Instance, s *cluster.Status, answers []cluster.Answer) {
	var all sync.WaitGroup
	for i := range s.Members {
		m := &s.Members[i]
		asked := slices.ContainsFunc(answers, func(a cluster.Answer) bool {
			return a.Err == nil && a.Member.Boot == m.Boot && (a.Name == m.Address || a.Address == m.Address)
		})
		if m.Self || !m.Reachable || asked || s.Carries(m) {
			continue
		}
		all.Go(func() {
			if err := peer.Announced(ctx, in.Cluster, peer.Owner{Node: m.Node, Boot: m.Boot, Address: m.Address}); err != nil {
				m.Reachable = false
				m.Error, m.ErrorZH = i18n.Why(err).Both()
			}
		})
	}
	all.Wait()
}

// CheckCluster adds to a status what came from outside the cluster, and asks the
// replicas that were reached whether they reach this one. NATS carries connections
// both ways.
func CheckCluster(ctx context.Context, in *Instance, s *cluster.Status) {
	s.Strangers, s.HostsRefused = in.strangers.Events(), in.HostsRefused.Events()
	var all sync.WaitGroup
	for i := range s.Members {
		if m := &s.Members[i]; !m.Self && m.Reachable && !s.Carries(m) {
			all.Go(func() { m.Back, m.BackZH = peer.Back(ctx, in.Cluster, reach(in, &m.Member)) })
		}
	}
	all.Wait()
}

// listWait is how long a replica that starts waits until the engine lists the
// others.
const listWait = 10 * time.Second

// CheckReleases returns an error if this replica cannot run beside one of the
// others. The replica is not ready before.
func CheckReleases(ctx context.Context, in *Instance) error {
	var others []cluster.Member
	for _, r := range in.Cluster.Others.Roll(ctx) {
		var m cluster.Member
		if r.Err == nil && json.Unmarshal(r.Text, &m) == nil {
			others = append(others, m)
		}
	}
	if m := in.Members.Load(); m != nil {
		others = append(others, cluster.AwaitList(ctx, m, listWait)...)
	}
	for _, m := range others {
		if err := cluster.SideBySide(in.Member(), m); err != nil {
			return err
		}
	}
	in.compared.Store(true)
	return nil
}
