package instance

import (
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/peer"
	"mcp-all-in-one/internal/seal"
)

// joinCluster makes this gateway one of several, where the config file says so.
// It returns what handles are sealed with, and what they call this process.
func (in *Instance) joinCluster(o Options) (*seal.Ring, string, error) {
	c := &o.Config.Cluster
	if !c.Enabled() || o.Schema != "" { // on stdio there is one client, and no other way to it
		return nil, "", nil
	}
	ring, err := seal.NewRing(c.Name, c.Secrets()...)
	if err != nil {
		return nil, "", err
	}
	in.Cluster, err = peer.New(peer.Options{
		Cluster: c.Name, Node: c.Node, Advertise: c.Advertise, Members: c.Members, Ring: ring, HandleOwner: gateway.HandleOwner,
		WriteIdle: o.Config.Limits.WriteIdle, Log: o.Log,
	})
	if err != nil {
		return nil, "", err
	}
	return ring, in.Cluster.Self(), nil
}
