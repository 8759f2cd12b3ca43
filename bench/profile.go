package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A share is a share of the processor time.
type share struct {
	name    string
	percent float64
}

// A profile is the distribution of processor time for one kind of call.
type profile struct {
	name   string
	shares []share
}

// measureProfile finds where the time goes, using the CPU profile of the
// gateway itself.
func measureProfile(ctx context.Context, b *bench) error {
	up, err := b.part(ctx, "upstream-http")
	if err != nil {
		return err
	}
	defer b.end(len(b.started) - 1)
	kinds := []struct {
		name   string
		server entry
		size   int
	}{
		{"HTTP to stdio, 100 B", b.stdioEntry(), 0},
		{"HTTP to HTTP, 100 B", httpEntry(up.endpoint), 0},
		{"HTTP to stdio, 1 MB", b.stdioEntry(), 2},
	}
	for i, k := range kinds {
		file := filepath.Join(b.dir, fmt.Sprintf("cpu%d.prof", i))
		p, err := b.serve(ctx, map[string]entry{"up": k.server}, nil, "MCP_AIO_CPUPROFILE="+file)
		if err != nil {
			return err
		}
		size := sizes[k.size]
		_, err = httpCall("", p.endpoint, "up__", size.tool, size.bytes, p.pid).run(ctx, 16, 6*b.opt.round)
		b.end(len(b.started) - 1)
		if err != nil {
			return err
		}
		traces, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", b.gateway, file).Output()
		if err != nil {
			return fmt.Errorf("reading the profile: %w", err)
		}
		b.page.profiles = append(b.page.profiles, profile{k.name, shares(traces)})
	}
	return nil
}

// frameKinds maps the frames of a stack to kinds; the innermost listed frame
// decides.
var frameKinds = []struct{ prefix, kind string }{
	{"internal/runtime/syscall", "system calls"},
	{"runtime.futex", "system calls"},
	{"runtime.usleep", "system calls"},
	{"runtime.newstack", "growing stacks"},
	{"runtime.mallocgc", "memory: allocation"},
	{"runtime.gcBgMarkWorker", "memory: garbage collection"},
	{"runtime.bgsweep", "memory: garbage collection"},
	{"runtime.bgscavenge", "memory: garbage collection"},
	{"runtime.gcAssistAlloc", "memory: garbage collection"},
	{"runtime.schedule", "scheduler"},
	{"runtime.goready", "scheduler"},
	{"runtime.ready", "scheduler"},
	{"runtime.gopark", "scheduler"},
	{"runtime.mcall", "scheduler"},
	{"runtime.selectgo", "scheduler"},
	{"runtime.newproc", "scheduler"},
	{"context.", "contexts"},
	{"mcp-all-in-one/internal/jsonrpc", "ours: JSON-RPC"},
	{"mcp-all-in-one/internal/mcphttp", "ours: MCP over HTTP"},
	{"mcp-all-in-one/internal/stdio", "ours: stdio"},
	{"mcp-all-in-one/internal/gateway", "ours: routing"},
	{"mcp-all-in-one/internal/catalog", "ours: routing"},
	{"mcp-all-in-one/internal/upstream", "ours: routing"},
	{"mcp-all-in-one/internal/traffic", "ours: record of calls"},
	{"mcp-all-in-one/internal/access", "ours: access"},
	{"mcp-all-in-one/", "ours: the rest"},
	{"net/http", "net/http"},
	{"net/textproto", "net/http"},
	{"net/url", "net/http"},
	{"bufio", "net/http"},
}

// shares sums the stacks of a profile.
func shares(traces []byte) []share {
	total, sums := time.Duration(0), make(map[string]time.Duration)
	var value time.Duration
	kind := ""
	settle := func() {
		if value > 0 {
			sums[cmp.Or(kind, "other")] += value
			total += value
		}
		value, kind = 0, ""
	}
	lines := bufio.NewScanner(bytes.NewReader(traces))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "---") {
			settle()
			continue
		}
		frame := fields[0]
		if d, err := time.ParseDuration(fields[0]); err == nil && len(fields) > 1 {
			value, frame = d, fields[1]
		}
		if value > 0 && kind == "" {
			kind = kindOf(frame)
		}
	}
	settle()
	var list []share
	for name, sum := range sums {
		list = append(list, share{name, 100 * float64(sum) / float64(total)})
	}
	slices.SortFunc(list, func(a, b share) int { return cmp.Compare(b.percent, a.percent) })
	return list
}

func kindOf(frame string) string {
	for _, k := range frameKinds {
		if strings.HasPrefix(frame, k.prefix) {
			return k.kind
		}
	}
	return ""
}
