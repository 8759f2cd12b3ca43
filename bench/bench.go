package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// A bench is one run: the started processes and the results.
type bench struct {
	opt     *options
	exe     string // this program
	gateway string
	dir     string
	started []func()
	page    page
}

func newBench(opt *options) (*bench, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	gateway, err := filepath.Abs(opt.gateway)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(gateway); err != nil {
		return nil, fmt.Errorf("finding the gateway: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	return &bench{opt: opt, exe: exe, gateway: gateway, dir: dir}, nil
}

// wants reports whether the section or cell with that name is to be run.
func (b *bench) wants(name string) bool { return b.opt.only.MatchString(name) }

// end stops the processes that were started since mark.
func (b *bench) end(mark int) {
	for len(b.started) > mark {
		last := len(b.started) - 1
		b.started[last]()
		b.started = b.started[:last]
	}
}

func (b *bench) close() {
	b.end(0)
	if err := os.RemoveAll(b.dir); err != nil {
		log.Print(err)
	}
}

// part starts one of the parts of this program.
func (b *bench) part(ctx context.Context, args ...string) (*process, error) {
	p, err := startProcess(ctx, b.dir, nil, append([]string{b.exe}, args...)...)
	if err == nil {
		b.started = append(b.started, p.stop)
	}
	return p, err
}

// An entry is a server entry of the gateway's configuration.
type entry map[string]any

func (b *bench) stdioEntry(args ...string) entry {
	return entry{"command": b.exe, "args": append([]string{"upstream-stdio"}, args...)}
}

func httpEntry(endpoint string) entry { return entry{"type": "http", "url": endpoint} }

// serveArguments are the arguments for serving over HTTP.
var serveArguments = []string{"http", "--port", "0", "--no-ui", "--log-level", "error"}

// serve starts the gateway over HTTP in front of some servers.
func (b *bench) serve(ctx context.Context, servers map[string]entry, extra map[string]any, env ...string) (*process, error) {
	command, environ, err := b.command(servers, extra, env, serveArguments...)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, b.dir, environ, command...)
	if err == nil {
		b.started = append(b.started, p.stop)
	}
	return p, err
}

// command returns the command that starts the gateway with its own
// configuration.
func (b *bench) command(servers map[string]entry, extra map[string]any, env []string, args ...string) (command, environ []string, err error) {
	home, err := os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return nil, nil, err
	}
	config := map[string]any{"mcpServers": servers}
	maps.Copy(config, extra)
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(home, "config.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, nil, err
	}
	environ = append([]string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "LANG=C", "PATH=" + os.Getenv("PATH")}, env...)
	return append([]string{b.gateway, "--config", file}, args...), environ, nil
}

// A target is a system that is measured.
type target struct {
	name string
	run  func(ctx context.Context, clients int, length time.Duration) (sample, error)
}

// A cell holds the samples of several targets under the same load.
type cell struct {
	group, size string
	clients     int
	names       []string
	samples     map[string][]sample // by target, in the order of the rounds
}

// measure runs rounds of all targets, each round in a different order.
func (b *bench) measure(ctx context.Context, group, size string, clients int, targets []target) (*cell, error) {
	c := &cell{group: group, size: size, clients: clients, samples: make(map[string][]sample)}
	for _, t := range targets {
		c.names = append(c.names, t.name)
	}
	for round := -1; round < b.opt.rounds; round++ {
		length := b.opt.round
		if round < 0 { // warm-up
			length = 50 * time.Millisecond
		}
		for _, i := range rand.Perm(len(targets)) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			t := targets[i]
			var s sample
			err := b.calm(func() (err error) {
				s, err = t.run(ctx, clients, length)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %d clients: %w", t.name, size, clients, err)
			}
			if round >= 0 {
				c.samples[t.name] = append(c.samples[t.name], s)
			}
		}
	}
	for _, name := range c.names {
		log.Printf("%-6s %-6s C=%-5d %-16s %9.0f/s %8.1f us CPU (least %.1f)  p50 %6.0f us", group, size, clients, name,
			c.median(name, sample.perSecond), c.median(name, sample.cpuPerCall), c.least(name, sample.cpuPerCall), c.median(name, sample.p50))
	}
	b.page.cells = append(b.page.cells, c)
	return c, nil
}
