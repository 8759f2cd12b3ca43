package listen

import (
	"bytes"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Most is how many resources a client may subscribe to on one stream or in one session.
const Most = 1000

// Weight estimates the memory that a subscription takes, here and in package upstream,
// if its URI has n bytes.
func Weight(n int) int { return 1536 + 2*n }

// WeightOf estimates the memory that subscriptions to the wanted ids take.
func WeightOf(wanted []byte) (n int) {
	for _, id := range split(wanted) {
		n += Weight(len(id))
	}
	return n
}

// Hear subscribes to the wanted ids, a JSON array, with begin. It returns those whose
// server agreed.
func Hear(wanted []byte, begin func(id []byte) []Hearing) (list []Hearing, honoured []byte) {
	if len(wanted) == 0 || wanted[0] != '[' {
		return nil, nil
	}
	var ids [][]byte
	for _, id := range split(wanted) {
		if begun := begin(id); len(begun) > 0 {
			list, ids = append(list, begun...), append(ids, id)
		}
	}
	return list, slices.Concat([]byte{'['}, bytes.Join(ids, []byte{','}), []byte{']'})
}

// split returns the elements of a JSON array, at most as many as a client may have.
func split(array []byte) (ids [][]byte) {
	if len(array) == 0 || array[0] != '[' {
		return nil
	}
	for id := range jsonrpc.Elements(array) {
		if ids = append(ids, id); len(ids) == Most {
			break
		}
	}
	return ids
}

// MayHaveChanged returns the notification that a resource may have changed.
func MayHaveChanged(uri string) *jsonrpc.Notification {
	return &jsonrpc.Notification{Method: mcp.NotificationUpdated, Params: jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(uri), "uri")}
}

// A Hearing is a resource or a task that a client subscribed to.
type Hearing struct {
	// At names the connection of the server, which confirms all at once. It is
	// empty for a task of the gateway itself.
	At      string
	Confirm func(context.Context)
	End     func(context.Context) // ends the subscription
	// Stale reports whether the server has been replaced since, and Again subscribes at
	// the one that has replaced it. Both are nil for a task, which ends with its server.
	// Again is nil, too, for all but the first of the hearings of one request.
	Stale func() bool
	Again func(context.Context) []Hearing
}

// Follow subscribes again where servers have been replaced. What fails is tried again
// with the next change.
func Follow(ctx context.Context, held []Hearing) []Hearing {
	var now []Hearing
	for _, h := range held {
		switch {
		case h.Stale == nil || !h.Stale():
			now = append(now, h)
		case h.Again != nil:
			if again := h.Again(ctx); len(again) > 0 {
				now = append(now, again...)
			} else {
				now = append(now, h)
			}
		}
	}
	return now
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
