package instance

import (
	"cmp"
	"context"
	"sync"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/place"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/upstream"
)

// A placer tells upstreams where the servers that run once are placed. Until
// the replicas have found each other, they have no place.
type placer struct {
	in     *Instance
	mu     sync.Mutex
	keeper *place.Keeper
	opened chan struct{} // closed when keeper is set
}

// placerFor returns nil if every server runs on each replica.
func placerFor(in *Instance, o Options) upstream.Placer {
	if !o.Config.Cluster.Agrees() || o.Schema != "" {
		return nil
	}
	in.placer.in, in.placer.opened = in, make(chan struct{})
	return &in.placer
}

func (p *placer) get() *place.Keeper {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keeper
}

// open starts to follow the places of servers.
func (p *placer) open(ctx context.Context, m *cluster.Members) {
	if p.in == nil {
		return
	}
	k := place.Open(ctx, place.Options{Members: m, Self: p.in.Member, Box: p.in.records, Log: p.in.Log})
	k.Want(placedServers(p.in.Set.Snapshot().Config))
	p.mu.Lock()
	p.keeper = k
	p.mu.Unlock()
	close(p.opened)
}

// want applies a new configuration.
func (p *placer) want(cfg *config.Config) {
	if k := p.get(); k != nil {
		k.Want(placedServers(cfg))
	}
}

// placedServers returns the servers that run once.
func placedServers(cfg *config.Config) map[string]place.Server {
	list := map[string]place.Server{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			if schema.Enabled && s.Once() && s.Runnable() {
				list[s.ID()] = place.Server{On: s.On, Fence: s.Fence}
			}
		}
	}
	return list
}

// Where returns the place of a server.
func (p *placer) Where(server string) upstream.Spot {
	k := p.get()
	if k == nil {
		return upstream.Spot{Change: p.opened}
	}
	spot, change, placed := k.Where(server)
	s := upstream.Spot{Epoch: spot.Epoch, Hurry: spot.Hurry, Change: change}
	switch {
	case !placed: // it is about to be stopped
		s.Change = make(chan struct{})
	case spot.Kind == place.Here:
		s.Here = true
	case spot.Kind == place.There:
		owner := peer.Owner{Node: spot.Owner.Node, Boot: spot.Owner.Boot, Address: spot.Owner.Address}
		there := &peer.Placed{
			Node: p.in.Cluster, Owner: owner, Server: server, Epoch: spot.Epoch,
			Refused: func() { k.Doubt(server, spot.Epoch) }, Dead: func() { p.dead(k, server, owner, spot.Epoch) },
		}
		s.Node, s.Dial = owner.Node, there.Dial
	}
	return s
}

// waitsForEngine reports whether a server cannot be placed because the engine is
// away, for an unknown time.
func (p *placer) waitsForEngine(u *upstream.Upstream) bool {
	spot, once := u.Spot()
	if !once || !spot.Nowhere() {
		return false
	}
	m := p.in.Members.Load()
	if m == nil {
		return false
	}
	away, _, _ := m.Agreement()
	return away
}

// dead tells the other replicas that a replica has ended.
func (p *placer) dead(k *place.Keeper, server string, o peer.Owner, epoch uint64) {
	k.Doubt(server, epoch)
	m := p.in.Members.Load()
	p.in.Background.Go(func() {
		if err := m.Bury(context.Background(), o.Node, o.Boot); err != nil {
			p.in.Log.Debug("telling that a replica has ended", "node", o.Node, "err", err)
		}
	})
}

// Begin registers the process of a server.
func (p *placer) Begin(server string, epoch uint64) bool {
	k := p.get()
	return k != nil && k.Begin(server, epoch)
}

// End removes the process of a server.
func (p *placer) End(server string) {
	if k := p.get(); k != nil {
		k.End(server)
	}
}

// Doubt notes that a replica does not run a server.
func (p *placer) Doubt(server string, epoch uint64) {
	if k := p.get(); k != nil {
		k.Doubt(server, epoch)
	}
}

func (p *placer) holds(server string, epoch uint64) bool {
	k := p.get()
	return k != nil && k.Holds(server, epoch)
}

// Placed counts the servers that run once, by the name of their replica.
// Servers without a replica count as "none".
func Placed(in *Instance) map[string]int {
	count := map[string]int{}
	k := in.placer.get()
	if k == nil {
		return count
	}
	for _, one := range k.List() {
		node := cmp.Or(one.Node, "none")
		count[node]++
	}
	return count
}

// Retire tells the balancer and the other replicas to stop using this one: its
// sessions and servers move to the others.
func Retire(in *Instance) {
	in.Draining.Store(true)
	in.Cluster.Retire()
	if m := in.Members.Load(); m != nil {
		m.Changed()
	}
	if k := in.placer.get(); k != nil {
		k.Wake()
	}
}

// GiveAway moves the servers that run once from this replica to others.
func GiveAway(ctx context.Context, in *Instance) {
	k := in.placer.get()
	if k == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, in.Config.Limits.Drain)
	defer cancel()
	k.Leave(ctx)
}

// LeaveCluster tells the others that this replica stops.
func LeaveCluster(in *Instance) {
	if k := in.placer.get(); k != nil {
		k.Close()
	}
	if m := in.Members.Load(); m != nil {
		m.Close()
	}
}

// drain moves the sessions and servers of this replica to the others. It returns
// an error while the engine is away, because no other replica could take the
// servers.
func drain(in *Instance) error {
	if m := in.Members.Load(); m != nil && !in.Draining.Load() {
		if away, _, why := m.Agreement(); away {
			return i18n.Errorf("servers cannot be moved while the engine is unreachable: %w", "引擎无法访问，暂时不能移动服务器：%w", why)
		}
	}
	Retire(in)
	return nil
}

// DrainReplica makes the named replica move its servers and sessions to the
// others, until it is restarted.
func DrainReplica(ctx context.Context, in *Instance, node string) error {
	if node == in.Config.Cluster.Node {
		return drain(in)
	}
	for _, m := range ClusterStatus(ctx, in).Members {
		if m.Node == node {
			return in.Cluster.Others.Drain(ctx, reach(in, &m.Member))
		}
	}
	return i18n.Errorf("there is no replica called %s: see cluster members", "没有名为 %s 的副本：见 cluster members", node)
}
