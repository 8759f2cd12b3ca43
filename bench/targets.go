package main

import (
	"fmt"
	"slices"
)

// A goal is a target value with the measured one.
type goal struct {
	text   string
	want   string
	found  string
	met    bool
	spread string
	best   string // ratio of the best rounds of both, which other load on the machine affects least
}

// rawAim is the ratio to floor-raw that calls over HTTP must reach.
const rawAim = 0.75

// goals compares all goals with the measurements.
func (p *page) goals() (must, later []goal) {
	for _, size := range []string{"100 B", "10 KB"} {
		must = append(must, p.throughput("http", size, toHTTP, floorHTTPUtil, 1.5, 1, 16, 64)...)
		must = append(must, p.throughput("http", size, toStdio, floorHTTPUtil, 2, 1, 16, 64)...)
	}
	must = append(must, p.throughput("http", "1 MB", toHTTP, floorHTTPUtil, 0.8)...)
	must = append(must, p.throughput("stdio", "100 B", overStdio, pipeRelay, 0.45, 1)...)
	must = append(must, p.throughput("stdio", "100 B", overStdio, pipeRelay, 0.25, 16)...)
	must = append(must, p.throughput("stdio", "10 KB", overStdio, pipeRelay, 0.35)...)
	must = append(must, p.throughput("stdio", "1 MB", overStdio, pipeRelay, 0.7)...)
	for _, size := range []string{"100 B", "10 KB"} {
		later = append(later, p.throughput("http", size, toHTTP, floorRaw, rawAim, 16)...)
		later = append(later, p.throughput("http", size, toStdio, floorRaw, rawAim, 16)...)
	}
	later = append(later, p.throughput("stdio", "100 B", overStdio, pipeRelay, 0.4, 16)...)
	later = append(later, p.processorGoals()...)
	later = append(later, p.otherGoals()...)
	later = append(later, p.codeGoals()...)
	later = append(later, p.clusterGoals()...)
	return must, later
}

// throughput returns one goal for each number of clients; an empty size means
// all sizes, no numbers mean all numbers.
func (p *page) throughput(group, size, name, floor string, want float64, clients ...int) []goal {
	var list []goal
	for _, c := range p.cells {
		if c.group != group || size != "" && c.size != size || clients != nil && !slices.Contains(clients, c.clients) {
			continue
		}
		r := c.ratio(name, floor, sample.perSecond)
		list = append(list, goal{
			text: fmt.Sprintf("%s, %s, C=%d: calls per second / %s", label(group, name), c.size, c.clients, floor),
			want: fmt.Sprintf(">= %.2f", want), found: fmt.Sprintf("%.2f", r.median), spread: fmt.Sprintf("%.2f..%.2f", r.low, r.high),
			best: fmt.Sprintf("%.2f", c.most(name, sample.perSecond)/c.most(floor, sample.perSecond)),
			met:  r.median >= want,
		})
	}
	return list
}

func label(group, name string) string {
	if group == "stdio" {
		return "stdio to stdio"
	}
	return map[string]string{toHTTP: "HTTP to HTTP", toStdio: "HTTP to stdio"}[name]
}

func (p *page) find(group, size string, clients int) *cell {
	for _, c := range p.cells {
		if c.group == group && c.size == size && c.clients == clients {
			return c
		}
	}
	return nil
}

func atMost(text string, want, found float64, unit string) goal {
	return goal{text: text, want: fmt.Sprintf("<= %.4g%s", want, unit), found: fmt.Sprintf("%.3g%s", found, unit), met: found <= want}
}

func (p *page) processorGoals() []goal {
	var list []goal
	cpu := func(text, group, size string, clients int, name, floor string, want float64) {
		if c := p.find(group, size, clients); c != nil {
			list = append(list, atMost(text, want, c.ratio(name, floor, sample.cpuPerCall).median, ""))
		}
	}
	cpu("HTTP to HTTP, 100 B, C=16: CPU per call / floor-raw", "http", "100 B", 16, toHTTP, floorRaw, 1.5)
	cpu("HTTP to stdio, 100 B, C=16: CPU per call / floor-raw", "http", "100 B", 16, toStdio, floorRaw, 1.1)
	cpu("HTTP to HTTP, 1 MB untouched, C=16: CPU per call / floor-raw", "http", "1 MB", 16, toHTTP, floorRaw, 1.3)
	cpu("HTTP to HTTP, 1 MB edited, C=16: CPU per call / floor-raw", "eras", "1 MB", 16, legacyToModern, floorRaw, 2)
	cpu("keys: CPU per call with / without", "access", "100 B", 16, keysOn, keysOff, 1.1)
	cpu("metrics: CPU per call with / without", "access", "100 B", 16, keysOff, metricsOff, 1.1)
	cpu("10 servers and 1,000 tools / 1 server and 10 tools: CPU per call", "growth", "100 B", 16, growthLarge, growthSmall, 1.05)
	if few, many := p.find("http", "100 B", 16), p.find("http", "100 B", 1000); few != nil && many != nil {
		list = append(list, atMost("HTTP to stdio, 100 B: CPU per call at C=1,000 / C=16", 1.35,
			many.median(toStdio, sample.cpuPerCall)/few.median(toStdio, sample.cpuPerCall), ""))
	}
	if c := p.find("http", "100 B", 1); c != nil {
		base := c.median(direct, sample.p50)
		list = append(list, atMost("HTTP to HTTP, 100 B, C=1: added latency / added latency of floor-raw", 1.6,
			(c.median(toHTTP, sample.p50)-base)/(c.median(floorRaw, sample.p50)-base), ""))
	}
	if c := p.find("http", "100 B", 16); c != nil {
		list = append(list, atMost("HTTP to stdio, 100 B, C=16: p99 / p99 of floor-raw", 1.7, c.ratio(toStdio, floorRaw, sample.p99).median, ""))
	}
	return list
}

func (p *page) otherGoals() []goal {
	var list []goal
	if c := p.find("list", "0.5 MB", 1); c != nil {
		list = append(list, atMost("tools/list of 1,000 tools, p50 / ten lists of 100", 1,
			c.ratio(listGateway, listDirect, sample.p50).median/10, ""))
	}
	if r := p.residence; r != nil {
		list = append(list,
			atMost("memory with 10 servers, 1,000 tools and 100 clients with a stream", 30, r.with100, " MiB"),
			atMost("memory of each further session with its stream (must 64)", 40, r.perSession, " KiB"),
			atMost(fmt.Sprintf("memory %.0f s after a burst of 1 MB answers, C=16", r.afterWait.Seconds()), 40, r.after, " MiB"),
			atMost(fmt.Sprintf("processor time in %.0f idle seconds, 1,000 streams open", r.idleOver.Seconds()), 0, float64(r.idle.Milliseconds()/10), " ticks"),
		)
	}
	if p.cold != nil {
		list = append(list,
			atMost("cold start to the full list of ten servers, beyond one server alone", 50, p.coldMS(coldHTTP)-p.coldMS(coldServer), " ms"),
			atMost("cold start to the first HTTP answer", 15, p.coldMS(coldHTTPFirst), " ms"))
	}
	return list
}

// coldMS returns a median in milliseconds.
func (p *page) coldMS(name string) float64 {
	i := slices.IndexFunc(p.cold, func(s span) bool { return s.name == name })
	return float64(p.cold[i].median().Microseconds()) / 1e3
}
