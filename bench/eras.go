package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

func modern(c *client) { c.modern = true }

// Names of the pairings of a client and a server.
const (
	legacyToLegacy = "2025-11-25 to 2025-11-25"
	modernToModern = "2026-07-28 to 2026-07-28"
	legacyToModern = "2025-11-25 to 2026-07-28"
	modernToLegacy = "2026-07-28 to 2025-11-25"
	streamed       = "2025-11-25, the server streams"
)

// measureEras measures calls within and across the eras, over HTTP on both
// sides.
func measureEras(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	old, err := b.part(ctx, "upstream-http")
	if err != nil {
		return err
	}
	young, err := b.part(ctx, "upstream-http", "-modern")
	if err != nil {
		return err
	}
	raw, err := b.part(ctx, "floor-raw", old.endpoint)
	if err != nil {
		return err
	}
	toOld, err := b.serve(ctx, map[string]entry{"up": httpEntry(old.endpoint)}, nil)
	if err != nil {
		return err
	}
	toYoung, err := b.serve(ctx, map[string]entry{"up": httpEntry(young.endpoint)}, nil)
	if err != nil {
		return err
	}
	streams, err := b.part(ctx, "upstream-http", "-stream")
	if err != nil {
		return err
	}
	toStreams, err := b.serve(ctx, map[string]entry{"up": httpEntry(streams.endpoint)}, nil)
	if err != nil {
		return err
	}
	for _, size := range sizes[:3] {
		if !b.wants("eras/" + size.name) {
			continue
		}
		_, err := b.measure(ctx, "eras", size.name, 16, []target{
			httpCall(floorRaw, raw.endpoint, "", size.tool, size.bytes, raw.pid),
			httpCall(legacyToLegacy, toOld.endpoint, "up__", size.tool, size.bytes, toOld.pid),
			httpCall(streamed, toStreams.endpoint, "up__", size.tool, size.bytes, toStreams.pid),
			httpCall(modernToModern, toYoung.endpoint, "up__", size.tool, size.bytes, toYoung.pid, modern),
			httpCall(legacyToModern, toYoung.endpoint, "up__", size.tool, size.bytes, toYoung.pid),
			httpCall(modernToLegacy, toOld.endpoint, "up__", size.tool, size.bytes, toOld.pid, modern),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	keysOff    = "metrics, without keys"
	keysOn     = "metrics, with keys"
	metricsOff = "no metrics, without keys"
)

// measureAccess measures the cost of requiring a key from every client, and of
// counting every call for /metrics.
func measureAccess(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	open, err := b.serve(ctx, map[string]entry{"up": b.stdioEntry()}, nil)
	if err != nil {
		return err
	}
	uncounted, err := b.serve(ctx, map[string]entry{"up": b.stdioEntry()}, map[string]any{"metrics": map[string]any{"enabled": false}})
	if err != nil {
		return err
	}
	command, env, err := b.command(map[string]entry{"up": b.stdioEntry()}, nil, nil, "key", "create", "load")
	if err != nil {
		return err
	}
	create := exec.CommandContext(ctx, command[0], command[1:]...)
	create.Env = env
	out, err := create.Output()
	if err != nil {
		return fmt.Errorf("creating a key: %w", err)
	}
	key := strings.TrimSpace(string(out))
	guarded, err := startProcess(ctx, b.dir, env, append(command[:3:3], serveArguments...)...)
	if err != nil {
		return err
	}
	b.started = append(b.started, guarded.stop)
	size := sizes[0]
	_, err = b.measure(ctx, "access", size.name, 16, []target{
		httpCall(metricsOff, uncounted.endpoint, "up__", size.tool, size.bytes, uncounted.pid),
		httpCall(keysOff, open.endpoint, "up__", size.tool, size.bytes, open.pid),
		httpCall(keysOn, guarded.endpoint, "up__", size.tool, size.bytes, guarded.pid, func(c *client) { c.key = key }),
	})
	return err
}

const (
	listDirect  = "one list of 100"
	listGateway = "gateway, 1,000"
)

// measureList measures tools/list with 1,000 tools of ten servers.
func measureList(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	gateway, first, err := b.tenServers(ctx, 100)
	if err != nil {
		return err
	}
	list := func(name string, p *process, atLeast int) target {
		c := client{endpoint: p.endpoint, method: "tools/list", atLeast: atLeast}
		return target{name, func(ctx context.Context, clients int, length time.Duration) (sample, error) {
			return c.run(ctx, clients, length, cpuOf(p.pid))
		}}
	}
	for _, clients := range []int{1, 16} {
		_, err := b.measure(ctx, "list", "0.5 MB", clients, []target{list(listDirect, first, 40_000), list(listGateway, gateway, 400_000)})
		if err != nil {
			return err
		}
	}
	return nil
}

// tenServers starts ten servers over HTTP and a gateway in front of them.
func (b *bench) tenServers(ctx context.Context, tools int) (gateway, first *process, err error) {
	servers := make(map[string]entry)
	for i := range 10 {
		up, err := b.part(ctx, "upstream-http", "-tools", fmt.Sprint(tools))
		if err != nil {
			return nil, nil, err
		}
		if first == nil {
			first = up
		}
		servers[fmt.Sprintf("up%d", i)] = httpEntry(up.endpoint)
	}
	gateway, err = b.serve(ctx, servers, nil)
	return gateway, first, err
}

const (
	growthSmall = "1 server, 10 tools"
	growthLarge = "10 servers, 1,000 tools"
)

// measureGrowth compares a small gateway with a large one.
func measureGrowth(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	small, err := b.serve(ctx, map[string]entry{"up0": b.stdioEntry("-tools", "10")}, nil)
	if err != nil {
		return err
	}
	large, err := b.serve(ctx, b.tenPipes(), nil)
	if err != nil {
		return err
	}
	size := sizes[0]
	_, err = b.measure(ctx, "growth", size.name, 16, []target{
		httpCall(growthSmall, small.endpoint, "up0__", size.tool, size.bytes, small.pid),
		httpCall(growthLarge, large.endpoint, "up0__", size.tool, size.bytes, large.pid),
	})
	return err
}

// tenPipes returns ten servers over pipes with 100 tools each.
func (b *bench) tenPipes() map[string]entry {
	servers := make(map[string]entry)
	for i := range 10 {
		servers[fmt.Sprintf("up%d", i)] = b.stdioEntry("-tools", "100")
	}
	return servers
}
