package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"path/filepath"
	"time"
)

// Names of the routes to a server through replicas.
const (
	atHome    = "its own replica"
	forwarded = "another replica"
)

// measureCluster measures calls that one replica forwards to another: calls of
// a session that the other replica owns, and calls to a server that runs there.
func measureCluster(ctx context.Context, b *bench) error {
	if b.wants("cluster/forwarded") {
		if err := b.measureForwarded(ctx, "forwarded", nil, nil); err != nil {
			return err
		}
	}
	if b.wants("cluster/carried") {
		if err := b.measureCarried(ctx); err != nil {
			return err
		}
	}
	if b.wants("cluster/placed") {
		return b.measurePlaced(ctx)
	}
	return nil
}

// measureCarried measures sessions of a replica without a peer port.
func (b *bench) measureCarried(ctx context.Context) error {
	mark := len(b.started)
	defer b.end(mark)
	nats, err := b.nats(ctx)
	if err != nil {
		return err
	}
	agree := map[string]any{"engine": "nats", "nats": map[string]any{"urls": []string{nats}}}
	carried := maps.Clone(agree)
	carried["peer"], carried["advertise"] = "nats", ""
	return b.measureForwarded(ctx, "carried", carried, agree)
}

// measureForwarded measures sessions, with a server over HTTP. homes and others are
// settings of the replica of the sessions, and of the other one.
func (b *bench) measureForwarded(ctx context.Context, group string, homes, others map[string]any) error {
	mark := len(b.started)
	defer b.end(mark)
	up, err := b.part(ctx, "upstream-http")
	if err != nil {
		return err
	}
	servers := map[string]entry{"up": httpEntry(up.endpoint)}
	home, err := b.replica(ctx, "a", servers, homes)
	if err != nil {
		return err
	}
	other, err := b.replica(ctx, "b", servers, others)
	if err != nil {
		return err
	}
	return b.measureReplicas(ctx, group, home, other, func(c *client) { c.endpoint, c.then = home.endpoint, other.endpoint })
}

// measurePlaced measures a single server on stdio, at the replica that runs it
// and at another one.
func (b *bench) measurePlaced(ctx context.Context) error {
	mark := len(b.started)
	defer b.end(mark)
	nats, err := b.nats(ctx)
	if err != nil {
		return err
	}
	up := b.stdioEntry()
	up["on"] = map[string]string{"has": "it"}
	agree := map[string]any{"engine": "nats", "nats": map[string]any{"urls": []string{nats}}, "labels": up["on"]}
	home, err := b.replica(ctx, "a", map[string]entry{"up": up}, agree)
	if err != nil {
		return err
	}
	delete(agree, "labels")
	other, err := b.replica(ctx, "b", map[string]entry{"up": up}, agree)
	if err != nil {
		return err
	}
	return b.measureReplicas(ctx, "placed", home, other, func(c *client) { c.endpoint = other.endpoint })
}

// measureReplicas compares calls at one replica with calls through another.
func (b *bench) measureReplicas(ctx context.Context, group string, home, other *process, away func(*client)) error {
	a, z := cpuOf(home.pid), cpuOf(other.pid)
	both := func() time.Duration { return a() + z() }
	for _, size := range sizes[:3] {
		for _, clients := range []int{1, 16} {
			if !b.wants(fmt.Sprintf("cluster/%s/%s/%d", group, size.name, clients)) {
				continue
			}
			local := client{endpoint: home.endpoint, method: "tools/call", tool: "up__" + size.tool, atLeast: size.bytes}
			far := local
			away(&far)
			var targets []target
			for _, t := range []struct {
				name string
				client
			}{{atHome, local}, {forwarded, far}} {
				targets = append(targets, target{t.name, func(ctx context.Context, clients int, length time.Duration) (sample, error) {
					return t.run(ctx, clients, length, both)
				}})
			}
			if _, err := b.measure(ctx, group, size.name, clients, targets); err != nil {
				return err
			}
		}
	}
	return nil
}

// replica starts one gateway of a cluster.
func (b *bench) replica(ctx context.Context, node string, servers map[string]entry, more map[string]any) (*process, error) {
	peer, err := freeAddress()
	if err != nil {
		return nil, err
	}
	cluster := map[string]any{"node": node, "peer": peer, "advertise": peer, "secret": "a-secret-of-thirty-two-bytes-or-more", "drainDelay": "0s"}
	maps.Copy(cluster, more)
	return b.serve(ctx, servers, map[string]any{"cluster": cluster})
}

// nats builds and starts nats-server, and returns its address.
func (b *bench) nats(ctx context.Context) (string, error) {
	binary := filepath.Join(b.dir, "nats-server")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/nats-io/nats-server/v2")
	build.Dir = filepath.FromSlash("test/cluster/natsserver")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building nats-server: %w: %s", err, out)
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(address)
	server := exec.CommandContext(ctx, binary, "-a", "127.0.0.1", "-p", port, "-js", "-sd", filepath.Join(b.dir, "nats"))
	if err := server.Start(); err != nil {
		return "", err
	}
	b.started = append(b.started, func() { _ = server.Process.Kill(); _ = server.Wait() })
	return "nats://" + address, nil
}

// freeAddress returns an address that is free now.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// clusterGoals checks the cost of calls between replicas.
func (p *page) clusterGoals() []goal {
	var list []goal
	if c := p.find("forwarded", "100 B", 1); c != nil {
		over := (c.median(forwarded, sample.p50) - c.median(atHome, sample.p50)) / 1e3
		list = append(list, atMost("a call of a session that another replica has, over one of its own: p50", 0.3, over, " ms"))
	}
	for _, g := range []struct {
		group, text, size string
		want              float64
	}{
		{"forwarded", "calls of sessions that another replica has", "100 B", 0.25},
		{"forwarded", "calls of sessions that another replica has", "1 MB", 0.5},
		{"placed", "calls to a server that runs on another replica", "100 B", 0.6},
	} {
		if c := p.find(g.group, g.size, 16); c != nil {
			r := c.ratio(forwarded, atHome, sample.perSecond)
			list = append(list, goal{
				text: fmt.Sprintf("%s, %s, C=16: calls per second / at %s", g.text, g.size, atHome), want: fmt.Sprintf(">= %.2f", g.want),
				found: fmt.Sprintf("%.2f", r.median), spread: fmt.Sprintf("%.2f..%.2f", r.low, r.high), met: r.median >= g.want,
				best: fmt.Sprintf("%.2f", c.most(forwarded, sample.perSecond)/c.most(atHome, sample.perSecond)),
			})
		}
	}
	return list
}
