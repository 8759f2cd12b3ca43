package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// A span holds repeated measurements of one duration.
type span struct {
	name   string
	values []time.Duration
}

func (s span) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.values))
	return sorted[len(sorted)/2]
}

func (s span) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return fmt.Sprintf("%.0f [%.0f..%.0f]", ms(s.median()), ms(slices.Min(s.values)), ms(slices.Max(s.values)))
}

// Names of the measured cold starts.
const (
	coldServer    = "one server alone, stdio"
	coldServers   = "the ten servers side by side, stdio, nothing between"
	coldStdio     = "ten servers over stdio, client on stdio"
	coldHTTP      = "ten servers over stdio, client on HTTP"
	coldHTTPFirst = "first HTTP answer of that"
)

// measureCold measures the time from the start of a process to the first full
// list.
func measureCold(ctx context.Context, b *bench) error {
	starts := []struct {
		name  string
		start func(context.Context) (time.Duration, error)
	}{
		{coldServer, func(ctx context.Context) (time.Duration, error) {
			return coldPipe(ctx, b, 100, nil, b.exe, "upstream-stdio", "-tools", "100")
		}},
		{coldServers, b.coldSideBySide},
		{coldStdio, func(ctx context.Context) (time.Duration, error) {
			command, env, err := b.command(b.tenPipes(), nil, nil, "stdio", "--silent")
			if err != nil {
				return 0, err
			}
			return coldPipe(ctx, b, 1000, env, command...)
		}},
		{coldHTTP, func(ctx context.Context) (time.Duration, error) { return b.coldEndpoint(ctx, true) }},
		{coldHTTPFirst, func(ctx context.Context) (time.Duration, error) { return b.coldEndpoint(ctx, false) }},
	}
	for _, s := range starts {
		found := span{name: s.name}
		for range max(b.opt.rounds, 5) {
			var took time.Duration
			err := b.calm(func() (err error) {
				took, err = s.start(ctx)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			found.values = append(found.values, took)
		}
		log.Printf("cold   %-45s %s ms", s.name, found)
		b.page.cold = append(b.page.cold, found)
	}
	return nil
}

// coldPipe starts a command and asks it for its tools.
func coldPipe(ctx context.Context, b *bench, tools int, env []string, command ...string) (time.Duration, error) {
	begin := time.Now()
	p, err := coldTools(ctx, b, tools, env, command...)
	took := time.Since(begin)
	if p != nil {
		p.close()
	}
	return took, err
}

// coldTools is coldPipe, but leaves the command running.
func coldTools(ctx context.Context, b *bench, tools int, env []string, command ...string) (*pipe, error) {
	p, err := startPipe(ctx, b.dir, env, command...)
	if err != nil {
		return nil, err
	}
	list, err := p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	if n := countTools(list); err == nil && n < tools {
		err = fmt.Errorf("%d tools, not %d: %.200s", n, tools, list)
	}
	return p, err
}

// coldSideBySide starts the ten servers at the same time and waits for the last
// list: the part of a gateway's start that the machine itself needs.
func (b *bench) coldSideBySide(ctx context.Context) (time.Duration, error) {
	var pipes [10]*pipe
	var errs [len(pipes)]error
	begin := time.Now()
	var wg sync.WaitGroup
	for i := range pipes {
		wg.Go(func() { pipes[i], errs[i] = coldTools(ctx, b, 100, nil, b.exe, "upstream-stdio", "-tools", "100") })
	}
	wg.Wait()
	took := time.Since(begin)
	for _, p := range pipes {
		if p != nil {
			p.close()
		}
	}
	return took, errors.Join(errs[:]...)
}

func countTools(list []byte) int { return bytes.Count(list, []byte(`"inputSchema":`)) }

// coldEndpoint starts the gateway over HTTP and waits for its first answer, or
// for the full list.
func (b *bench) coldEndpoint(ctx context.Context, full bool) (time.Duration, error) {
	mark := len(b.started)
	defer b.end(mark)
	begin := time.Now()
	p, err := b.serve(ctx, b.tenPipes(), nil)
	if err != nil {
		return 0, err
	}
	if !full {
		resp, err := http.Get(strings.TrimSuffix(p.endpoint, "/mcp") + "/health")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return time.Since(begin), nil
	}
	w, err := client{endpoint: p.endpoint, method: "tools/list"}.dial(ctx, 1)
	if err != nil {
		return 0, err
	}
	defer w.close()
	took := time.Since(begin)
	if n := countTools(w.in.body()); n < 1000 {
		return took, fmt.Errorf("%d tools, not 1000", n)
	}
	return took, nil
}
