package main

import (
	"fmt"
	"slices"
)

// quantile is in microseconds.
func (s sample) quantile(q float64) float64 {
	if len(s.latency) == 0 {
		return 0
	}
	at := min(int(q*float64(len(s.latency))), len(s.latency)-1)
	return float64(s.latency[at].Nanoseconds()) / 1e3
}

func (s sample) p50() float64 { return s.quantile(0.50) }
func (s sample) p99() float64 { return s.quantile(0.99) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// median returns the median of a measure over the rounds of one target.
func (c *cell) median(name string, measure func(sample) float64) float64 {
	return median(c.values(name, measure))
}

// A ratio compares two targets round by round, so that both had the same
// conditions.
type ratio struct{ median, low, high float64 }

func (r ratio) String() string {
	if r.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f [%.2f..%.2f]", r.median, r.low, r.high)
}

func (c *cell) ratio(name, floor string, measure func(sample) float64) ratio {
	var values []float64
	mine, theirs := c.samples[name], c.samples[floor]
	for i := range min(len(mine), len(theirs)) {
		if base := measure(theirs[i]); base > 0 {
			values = append(values, measure(mine[i])/base)
		}
	}
	if len(values) == 0 {
		return ratio{}
	}
	return ratio{median(values), slices.Min(values), slices.Max(values)}
}

// least returns the minimum of a measure over the rounds of one target.
func (c *cell) least(name string, measure func(sample) float64) float64 {
	return slices.Min(c.values(name, measure))
}

func (c *cell) most(name string, measure func(sample) float64) float64 {
	return slices.Max(c.values(name, measure))
}

func (c *cell) values(name string, measure func(sample) float64) []float64 {
	values := make([]float64, 0, len(c.samples[name]))
	for _, s := range c.samples[name] {
		values = append(values, measure(s))
	}
	return values
}
