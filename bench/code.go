package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"slices"
	"time"
)

// Names of the ways in which a client on stdio calls a tool in code mode.
const (
	byExec     = "exec"
	byRun      = "run, one call"
	byWarmRun  = "run, one call, after a pause"
	byRunMany  = "run, 1,000 calls"
	alone      = "alone"
	besideSpin = "beside a script that spins"
)

// scriptRest is long enough for the process of the next script to become ready.
const scriptRest = 50 * time.Millisecond

// codeSettings allow a script to make the calls of a whole round.
func codeSettings(cpu string) map[string]any {
	return map[string]any{"mode": "code", "scripts": map[string]any{"calls": 1000, "cpu": cpu}}
}

// measureCode compares scripts with exec.
func measureCode(ctx context.Context, b *bench) error {
	if b.wants("code/100 B") {
		if err := b.measureScripts(ctx); err != nil {
			return err
		}
	}
	if b.wants("code/neighbour") {
		return b.measureNeighbour(ctx)
	}
	return nil
}

// measureScripts measures one client and one server, both on stdio.
func (b *bench) measureScripts(ctx context.Context) error {
	mark := len(b.started)
	defer b.end(mark)
	command, env, err := b.command(map[string]entry{"up": b.stdioEntry()}, codeSettings("1m"), nil, "stdio", "--silent")
	if err != nil {
		return err
	}
	p, err := startPipe(ctx, b.dir, env, command...)
	if err != nil {
		return err
	}
	b.started = append(b.started, p.close)
	// The list is complete only when the server is ready.
	if _, err := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"); err != nil {
		return err
	}
	const one = `"name":"run","arguments":{"code":"return (await tools.up['fixed-100b']({pattern: 'fox', limit: 10})).length"}`
	const many = `"name":"run","arguments":{"code":"let n = 0; for (let i = 0; i < 1000; i++) n += (await tools.up['fixed-100b']({pattern: 'fox', limit: 10})).length; return n"}`
	kinds := []struct {
		name, params string
		calls        int
		rest         time.Duration
	}{
		{byExec, `"name":"exec","arguments":{"server_name":"up","tool_name":"fixed-100b","parameters":{"pattern":"fox","limit":10}}`, 1, 0},
		{byRun, one, 1, 0},
		{byWarmRun, one, 1, scriptRest},
		{byRunMany, many, 1000, 0},
	}
	var targets []target
	for _, k := range kinds {
		targets = append(targets, target{k.name, func(ctx context.Context, _ int, length time.Duration) (sample, error) {
			return p.repeat(ctx, k.params, k.calls, k.rest, length)
		}})
	}
	if _, err := b.measure(ctx, "code", "100 B", 1, targets); err != nil {
		return err
	}
	return b.measureStop(p)
}

// repeat repeats the same call for the given time, but at least once. It adds
// the processor time of a script to the gateway's.
func (p *pipe) repeat(ctx context.Context, params string, calls int, rest, length time.Duration) (sample, error) {
	cpu := cpuOf(p.pid())
	var s sample
	before := cpu()
	for stop := time.Now().Add(length); s.calls == 0 || time.Now().Before(stop); {
		if rest > 0 {
			if err := pause(ctx, rest); err != nil {
				return s, err
			}
		}
		begin := time.Now()
		answer, err := p.params(params)
		if err != nil {
			return s, err
		}
		took := time.Since(begin)
		var message struct {
			Result struct {
				IsError bool
				Meta    struct {
					Run *struct{ Calls, Failed, CPUMs int } `json:"mcp-all-in-one/run"`
				} `json:"_meta"`
			}
		}
		if err := json.Unmarshal(answer, &message); err != nil {
			return s, err
		}
		run := message.Result.Meta.Run
		if message.Result.IsError || run != nil && (run.Calls != calls || run.Failed != 0) || run == nil && !bytes.Contains(answer, []byte(`"content"`)) {
			return s, fmt.Errorf("unexpected answer: %.300s", answer)
		}
		if run != nil {
			s.cpu += time.Duration(run.CPUMs) * time.Millisecond
		}
		s.calls += calls
		s.elapsed += took
		s.latency = append(s.latency, took)
	}
	s.cpu += cpu() - before
	slices.Sort(s.latency)
	return s, nil
}

// measureStop measures how long after its limit a spinning script ends.
func (b *bench) measureStop(p *pipe) error {
	const limit = 200 * time.Millisecond
	found := span{name: "a script that spins ends, after its limit"}
	for range max(b.opt.rounds, 5) {
		var took time.Duration
		err := b.calm(func() error {
			begin := time.Now()
			answer, err := p.params(fmt.Sprintf(`"name":"run","arguments":{"code":"for (;;);","timeout_seconds":%g}`, limit.Seconds()))
			took = time.Since(begin)
			if err == nil && !bytes.Contains(answer, []byte("out of time")) {
				err = fmt.Errorf("unexpected answer: %.300s", answer)
			}
			return err
		})
		if err != nil {
			return err
		}
		found.values = append(found.values, took-limit)
	}
	log.Printf("code   %s %s ms", found.name, found)
	b.page.stop = &found
	return nil
}

// measureNeighbour measures the calls of four clients while a fifth one runs
// spinning scripts.
func (b *bench) measureNeighbour(ctx context.Context) error {
	mark := len(b.started)
	defer b.end(mark)
	p, err := b.serve(ctx, map[string]entry{"up": b.stdioEntry()}, codeSettings("10m"))
	if err != nil {
		return err
	}
	exec := client{endpoint: p.endpoint, method: "tools/call", tool: "exec", atLeast: 100,
		arguments: `{"server_name":"up","tool_name":"fixed-100b","parameters":{"pattern":"fox","limit":10}}`}
	calls := func(ctx context.Context, clients int, length time.Duration) (sample, error) {
		return exec.run(ctx, clients, length, cpuOf(p.pid))
	}
	spin := client{endpoint: p.endpoint, method: "tools/call", tool: "run"}
	_, err = b.measure(ctx, "neighbour", "100 B", 4, []target{
		{alone, calls},
		{besideSpin, func(ctx context.Context, clients int, length time.Duration) (sample, error) {
			spin := spin
			// The script runs a little longer than the round, which waits for
			// it.
			spin.arguments = fmt.Sprintf(`{"code":"for (;;);","timeout_seconds":%g}`, (length + 200*time.Millisecond).Seconds())
			ended := make(chan error, 1)
			go func() {
				w, err := spin.dial(ctx, 1)
				if err == nil {
					w.close()
				}
				ended <- err
			}()
			s, err := calls(ctx, clients, length)
			if ended := <-ended; err == nil {
				err = ended
			}
			return s, err
		}},
	})
	return err
}

// codeGoals checks the cost of scripts.
func (p *page) codeGoals() []goal {
	var list []goal
	if c := p.find("code", "100 B", 1); c != nil {
		over := func(name string) float64 { return (c.median(name, sample.p50) - c.median(byExec, sample.p50)) / 1e3 }
		list = append(list,
			atMost("run with one call, over exec", 10, over(byRun), " ms"),
			atMost("run with one call when a process is ready, over exec", 3, over(byWarmRun), " ms"),
			atMost("1,000 calls of one script / 1,000 exec: time", 1.3, c.ratio(byExec, byRunMany, sample.perSecond).median, ""),
			atMost("a call of a script, over exec: CPU", 60, c.median(byRunMany, sample.cpuPerCall)-c.median(byExec, sample.cpuPerCall), " us"))
	}
	if p.stop != nil {
		list = append(list, atMost(p.stop.name, 50, float64(p.stop.median().Microseconds())/1e3, " ms"))
	}
	if c := p.find("neighbour", "100 B", 4); c != nil {
		list = append(list, atMost("calls of others beside a script that spins / without it: p99", 2, c.ratio(besideSpin, alone, sample.p99).median, ""))
	}
	return list
}
