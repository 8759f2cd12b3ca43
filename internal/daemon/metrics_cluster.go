package daemon

import (
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/telemetry"
)

// clusterMetrics writes what this replica does for the others, and whether it
// is in contact with them.
func clusterMetrics(in *instance.Instance, p *telemetry.Page) {
	if in.Cluster == nil {
		return
	}
	f := in.Cluster.Counted.Figures()
	p.Family("mcp_gateway_cluster_forwards_total", telemetry.Counter, "Requests that another replica answered, by its name.")
	for _, node := range env.SortedKeys(f.Forwards) {
		p.Sample(float64(f.Forwards[node]), "to", node)
	}
	var bounds []float64
	for _, b := range peer.Bounds {
		bounds = append(bounds, b.Seconds())
	}
	p.Family("mcp_gateway_cluster_forward_seconds", telemetry.Histogram, "How long another replica took until its answer began.")
	p.Histogram(bounds, f.Within, f.Count, f.Sum.Seconds())
	p.Family("mcp_gateway_cluster_restored_total", telemetry.Counter, "Sessions of replicas that ended which began again here.")
	p.Sample(float64(f.Restored))
	p.Family("mcp_gateway_cluster_owner_lost_total", telemetry.Counter, "Calls whose replica was lost while they ran there.")
	p.Sample(float64(f.Lost))
	p.Family("mcp_gateway_cluster_subscribed", telemetry.Gauge, "Sessions of all replicas whose subscriptions this one can restore.")
	wants, final := in.Cluster.Wanted.Len()
	p.Sample(float64(wants))
	p.Family("mcp_gateway_cluster_final", telemetry.Gauge, "Sessions of all replicas that will not begin again at another one, because they have ended or got a process of their own.")
	p.Sample(float64(final))
	members := in.Members.Load()
	if members == nil {
		return
	}
	p.Family("mcp_gateway_cluster_members", telemetry.Gauge, "Replicas that the engine knows, by state, and by whether their configuration is ours.")
	count := countMembers(members.List(), in.Member().Config)
	for _, state := range []cluster.State{cluster.Ready, cluster.Draining} {
		for _, config := range []string{"same", "differs"} {
			p.Sample(float64(count[memberKind{state, config}]), "state", string(state), "config", config)
		}
	}
	p.Family("mcp_gateway_cluster_placed", telemetry.Gauge, "Servers that run once in the cluster, by the replica that runs them; node is none for servers that no replica runs.")
	placed := instance.Placed(in)
	for _, node := range env.SortedKeys(placed) {
		p.Sample(float64(placed[node]), "node", node)
	}
	if in.Shared.SharesConfig() {
		rejected := 0.0
		if in.Shared.Rejected() != nil {
			rejected = 1
		}
		p.Family("mcp_gateway_cluster_config_rejected", telemetry.Gauge, "Whether the configuration that the replicas share cannot be used here, so that an earlier one is in use.")
		p.Sample(rejected)
	}
	away, since, _ := members.Agreement()
	seconds := 0.0
	if away {
		seconds = time.Since(since).Seconds()
	}
	p.Family("mcp_gateway_cluster_agreement_seconds", telemetry.Gauge, "For how long the engine has been away; 0 when it is reached.")
	p.Sample(seconds)
}

// A memberKind identifies a series of members.
type memberKind struct {
	state  cluster.State
	config string
}

func countMembers(list []cluster.Member, ours string) map[memberKind]int {
	count := map[memberKind]int{}
	for _, m := range list {
		config := "same"
		if m.Config != ours {
			config = "differs"
		}
		count[memberKind{m.State, config}]++
	}
	return count
}
