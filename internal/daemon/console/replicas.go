package console

import (
	"cmp"
	"context"
	"net/http"
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/web"
)

// replicas are the other gateways of the cluster of an instance.
type replicas struct {
	in *instance.Instance
	// said maps the address of a replica to the name that it last gave, for
	// when it does not answer.
	said sync.Map
}

// replicasOf returns nil for an instance outside a cluster.
func replicasOf(in *instance.Instance) web.Replicas {
	if in.Cluster == nil {
		return nil
	}
	return &replicas{in: in}
}

// Self returns the name of this replica.
func (c *replicas) Self() string { return c.in.Cluster.Owner().Node }

// Listed reports whether all other replicas are known.
func (c *replicas) Listed() bool { return instance.Listed(c.in) }

// Ask asks all other replicas. A replica that cannot be reached is listed with
// the name that the engine knows or that it gave before, or else its address. Of a
// replica that was asked at several addresses, the answer that it accepted counts.
func (c *replicas) Ask(r *http.Request, who access.Principal) []web.Asked {
	names := map[string]string{}
	if m := c.in.Members.Load(); m != nil {
		for _, one := range m.List() {
			names[one.Address] = one.Node
		}
	}
	var list []web.Asked
	seen := map[string]int{} // place in list
	for _, got := range c.in.Cluster.Others.Ask(r, who) {
		name := got.Node
		if name != "" {
			c.said.Store(got.Address, name)
		} else if before, ok := c.said.Load(got.Address); ok {
			name = before.(string)
		}
		for _, known := range []string{names[got.Address], names[got.Name], got.Address} {
			name = cmp.Or(name, known)
		}
		if name == c.Self() {
			continue
		}
		at, known := seen[name]
		if !known {
			at = len(list)
			seen[name], list = at, append(list, web.Asked{})
		}
		if !known || list[at].Err != nil && got.Err == nil {
			list[at] = web.Asked{Replica: name, Status: got.Status, Body: got.Text, Err: got.Err}
		}
	}
	return list
}

// AskOne sends a request to the replica with a name, or else an address, that the
// engine, a survey of all replicas or an earlier answer knows.
func (c *replicas) AskOne(r *http.Request, who access.Principal, name string) (web.Asked, bool) {
	address := ""
	if m := c.in.Members.Load(); m != nil {
		for _, one := range m.List() {
			if one.Node == name {
				address = one.Address
			}
		}
	}
	if address == "" {
		for _, one := range instance.ClusterStatus(r.Context(), c.in).Members {
			if one.Node == name || one.Address == name {
				address = one.Address
			}
		}
	}
	if address == "" {
		c.said.Range(func(at, node any) bool {
			if node == name {
				address = at.(string)
			}
			return address == ""
		})
	}
	if address == "" {
		return web.Asked{}, false
	}
	got := c.in.Cluster.Others.AskOne(r, who, address)
	return web.Asked{Replica: name, Status: got.Status, Body: got.Text, Header: got.Header, Err: got.Err}, true
}

// Follow tells what happens on the other replicas.
func (c *replicas) Follow(ctx context.Context, who access.Principal, path string, tell func(replica, event string)) {
	c.in.Cluster.Others.Follow(ctx, who, path, tell)
}
