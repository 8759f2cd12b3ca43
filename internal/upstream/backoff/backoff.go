// Package backoff computes how long to wait before the next attempt to reach a
// server.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// Base is the wait after the first failure.
	Base = 500 * time.Millisecond
	// Cap is the longest wait.
	Cap = 60 * time.Second
)

// Spread returns a random duration between d/2 and d. The lower bound limits how
// often an unreachable host is tried, however many servers it has.
func Spread(d time.Duration) time.Duration { return d/2 + Jitter(d/2) }

// Jitter returns a random duration up to d, to spread the attempts of many
// servers over time.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(rand.Int64N(int64(d))) + time.Millisecond
}

// Wait returns after d, or earlier with the context's error.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
