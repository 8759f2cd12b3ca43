package instance

import (
	"context"
	"net"
	"slices"
	"sync"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/natsengine"
	"mcp-all-in-one/internal/peer"
)

// A carriage has the connections to and from replicas that are not reached
// directly. It connects to NATS when the first one is needed.
type carriage struct {
	opt     natsengine.Options
	mu      sync.Mutex
	carrier *natsengine.Carrier
	closed  bool
}

func (c *carriage) open() (*natsengine.Carrier, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, net.ErrClosed
	}
	if c.carrier == nil {
		carrier, err := natsengine.OpenCarrier(c.opt)
		if err != nil {
			return nil, err
		}
		c.carrier = carrier
	}
	return c.carrier, nil
}

func (c *carriage) dial(ctx context.Context, node string) (net.Conn, error) {
	carrier, err := c.open()
	if err != nil {
		return nil, err
	}
	return carrier.Dial(ctx, node)
}

func (c *carriage) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed = true; c.carrier != nil {
		c.carrier.Close()
	}
}

// carry returns the function that connects to a replica through NATS; nil
// without an engine.
func (s *Shared) carry() func(ctx context.Context, node string) (net.Conn, error) {
	if s == nil {
		return nil
	}
	return s.carriage.dial
}

// ListenCarried returns the listener for connections that NATS carries. It waits
// until a replica needs it: this one, or another one that has no peer port and so
// cannot be expected to reach the port of this one. The listener is nil if ctx
// ends before that.
func ListenCarried(ctx context.Context, in *Instance) (net.Listener, error) {
	m := in.Members.Load()
	for !in.Config.Cluster.Carried() {
		changes := m.Changes()
		if slices.ContainsFunc(m.List(), func(one cluster.Member) bool { return one.Carried }) {
			break
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return nil, nil
		}
	}
	carrier, err := in.Shared.carriage.open()
	if err != nil {
		return nil, err
	}
	ln, err := carrier.Listen(in.Config.Cluster.Node)
	if err != nil {
		return nil, err
	}
	return peer.Carried(in.Cluster, ln), nil
}
