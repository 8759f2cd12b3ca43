package instance

import (
	"context"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/i18n"
)

// Rebalance makes all replicas move idle servers that run once to the replicas
// where a new placement would put them.
func Rebalance(ctx context.Context, in *Instance) (cluster.Rebalanced, error) {
	m := in.Members.Load()
	if m == nil {
		return cluster.Rebalanced{}, i18n.Errorf("no server runs once in this cluster, because cluster.engine is none", "没有只运行一份的服务器：cluster.engine 为 none")
	}
	if away, _, why := m.Agreement(); away {
		return cluster.Rebalanced{}, i18n.Errorf("servers cannot be moved while the engine is unreachable: %w", "引擎无法访问，暂时不能移动服务器：%w", why)
	}
	all := in.placer.rebalance()
	for _, one := range m.List() {
		if one.Boot == in.Cluster.Owner().Boot {
			continue
		}
		var theirs cluster.Rebalanced
		if err := in.Cluster.Others.Rebalance(ctx, one.Address, &theirs); err != nil {
			in.Log.Warn("a replica does not rebalance", "node", one.Node, "err", err)
			all.Silent = append(all.Silent, one.Node)
		}
		all.Moved, all.Busy = append(all.Moved, theirs.Moved...), append(all.Busy, theirs.Busy...)
	}
	return all, nil
}

// rebalance moves idle servers from this replica to where they belong.
func (p *placer) rebalance() cluster.Rebalanced {
	k := p.get()
	if k == nil {
		return cluster.Rebalanced{}
	}
	idle := map[string]bool{}
	for _, s := range p.in.Statuses() { // any further connection belongs to a session
		idle[s.Schema+"/"+s.Name] = s.Running+s.Queued == 0 && s.Connections <= 1
	}
	return k.Rebalance(func(server string) bool { return idle[server] })
}
