package main

import (
	"context"
	"fmt"
	"time"
)

// Names of the targets.
const (
	direct        = "direct"
	floorRaw      = "floor-raw"
	floorHTTPUtil = "floor-httputil"
	floorStdio    = "floor-stdio"
	pipeRelay     = "pipe-relay"
	toHTTP        = "gateway to HTTP"
	toStdio       = "gateway to stdio"
	overStdio     = "gateway"
)

// httpCall returns a target: a tool that clients call over HTTP.
func httpCall(name, endpoint, prefix, tool string, size, pid int, change ...func(*client)) target {
	c := client{endpoint: endpoint, method: "tools/call", tool: prefix + tool, atLeast: size}
	for _, f := range change {
		f(&c)
	}
	return target{name, func(ctx context.Context, clients int, length time.Duration) (sample, error) {
		return c.run(ctx, clients, length, cpuOf(pid))
	}}
}

// served is an endpoint with the prefix of its tools.
type served struct {
	name, endpoint, prefix string
	pid                    int
}

// measureHTTP measures calls over HTTP, to servers over HTTP and over pipes.
func measureHTTP(ctx context.Context, b *bench) error {
	mark := len(b.started)
	defer b.end(mark)
	all, err := b.httpTargets(ctx)
	if err != nil {
		return err
	}
	for _, size := range sizes[:3] {
		for _, clients := range []int{1, 16, 64, 1000} {
			if size.bytes > 100<<10 && clients > 64 || !b.wants(fmt.Sprintf("http/%s/%d", size.name, clients)) {
				continue
			}
			var targets []target
			for _, s := range all {
				targets = append(targets, httpCall(s.name, s.endpoint, s.prefix, size.tool, size.bytes, s.pid))
			}
			if _, err := b.measure(ctx, "http", size.name, clients, targets); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) httpTargets(ctx context.Context) ([]served, error) {
	up, err := b.part(ctx, "upstream-http")
	if err != nil {
		return nil, err
	}
	raw, err := b.part(ctx, "floor-raw", up.endpoint)
	if err != nil {
		return nil, err
	}
	util, err := b.part(ctx, "floor-httputil", up.endpoint)
	if err != nil {
		return nil, err
	}
	line, err := b.part(ctx, "floor-stdio", b.exe, "upstream-stdio")
	if err != nil {
		return nil, err
	}
	web, err := b.serve(ctx, map[string]entry{"up": httpEntry(up.endpoint)}, nil)
	if err != nil {
		return nil, err
	}
	pipes, err := b.serve(ctx, map[string]entry{"up": b.stdioEntry()}, nil)
	if err != nil {
		return nil, err
	}
	all := []served{
		{direct, up.endpoint, "", up.pid},
		{floorRaw, raw.endpoint, "", raw.pid},
		{floorHTTPUtil, util.endpoint, "", util.pid},
		{floorStdio, line.endpoint, "", line.pid},
		{toHTTP, web.endpoint, "up__", web.pid},
		{toStdio, pipes.endpoint, "up__", pipes.pid},
	}
	return append(all, b.opt.others...), nil
}

// measureStdio measures one client that keeps calls in flight on a pipe.
func measureStdio(ctx context.Context, b *bench) error {
	for _, size := range sizes[:3] {
		if err := b.measurePipes(ctx, "stdio", size.name, size.tool, size.bytes, 1, 16, 64); err != nil {
			return err
		}
	}
	return b.measurePipes(ctx, "burst", sizes[0].name, sizes[0].tool, sizes[0].bytes, 16, 64)
}

// measurePipes measures one size on pipes, for each number of calls in flight.
func (b *bench) measurePipes(ctx context.Context, group, name, tool string, size int, flights ...int) error {
	mark := len(b.started)
	defer b.end(mark)
	together := group == "burst"
	var flags []string
	if together {
		flags = append(flags, "-together")
	}
	command, env, err := b.command(map[string]entry{"up": b.stdioEntry(flags...)}, nil, nil, "stdio", "--silent")
	if err != nil {
		return err
	}
	server := append([]string{b.exe, "upstream-stdio"}, flags...)
	kinds := []struct {
		name, prefix string
		env, command []string
	}{
		{direct, "", nil, server},
		{pipeRelay, "", nil, append([]string{b.exe, "pipe-relay"}, server...)},
		{overStdio, "up__", env, command},
	}
	var targets []target
	for _, k := range kinds {
		p, err := startPipe(ctx, b.dir, k.env, k.command...)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		b.started = append(b.started, p.close)
		targets = append(targets, target{k.name, func(_ context.Context, n int, length time.Duration) (sample, error) {
			return p.run(k.prefix+tool, size, n, length, together, cpuOf(p.pid()))
		}})
	}
	for _, n := range flights {
		if !b.wants(fmt.Sprintf("%s/%s/%d", group, name, n)) {
			continue
		}
		if _, err := b.measure(ctx, group, name, n, targets); err != nil {
			return err
		}
	}
	return nil
}
