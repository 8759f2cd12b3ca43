package listen

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Hearing is a resource or a task that a client subscribed to.
type Hearing struct {
	// At names the connection of the server, which confirms all at once. It is
	// empty for a task of the gateway itself.
	At      string
	Confirm func(context.Context)
	End     func(context.Context) // ends the subscription
}

// Confirm waits until the servers have confirmed the subscriptions.
func Confirm(ctx context.Context, list []Hearing) {
	told := make(map[string]bool)
	for _, h := range list {
		if h.At != "" && !told[h.At] {
			told[h.At] = true
			h.Confirm(ctx)
		}
	}
}

// endsAtOnce is how many subscriptions of a client end at once: servers may be slow.
const endsAtOnce = 16

// Release ends the subscriptions of a client that listens no more. Servers are told
// within a time limit.
func Release(held []Hearing, limit time.Duration) {
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all errgroup.Group
	all.SetLimit(endsAtOnce)
	for _, h := range held {
		all.Go(func() error {
			h.End(ctx)
			return nil
		})
	}
	all.Wait()
}
