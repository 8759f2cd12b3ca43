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

// Hear subscribes to the wanted ids, a JSON array, with begin, which returns nil for one
// that is refused.
func Hear(wanted []byte, begin func(id []byte) *Hearing) (list []*Hearing) {
	for _, id := range split(wanted) {
		if h := begin(id); h != nil {
			h.id = id
			list = append(list, h)
		}
	}
	return list
}

// Honour returns the ids of what is heard, as a JSON array; nil if wanted is none.
func Honour(wanted []byte, list []*Hearing) []byte {
	if len(wanted) == 0 || wanted[0] != '[' {
		return nil
	}
	var ids [][]byte
	for _, h := range list {
		ids = append(ids, h.id)
	}
	return slices.Concat([]byte{'['}, bytes.Join(ids, []byte{','}), []byte{']'})
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

// A Part of a hearing is a subscription at one connection of a server.
type Part interface {
	// Confirm waits until the server has confirmed it. If the server refuses it, Confirm
	// ends it and returns why.
	Confirm(context.Context) (*jsonrpc.Response, error)
	End(context.Context) (*jsonrpc.Response, error)
}

// Here is a part at no server, which it ends.
type Here func()

// Confirm confirms it.
func (Here) Confirm(context.Context) (*jsonrpc.Response, error) { return &jsonrpc.Response{}, nil }

// End ends it.
func (end Here) End(context.Context) (*jsonrpc.Response, error) {
	end()
	return &jsonrpc.Response{}, nil
}

// A Hearing is a resource or a task that a client subscribed to.
type Hearing struct {
	Parts []Part // none is left of one that no server accepts
	// Begun is called with the answer of the servers. It may be nil, as all below: a task
	// ends with its server.
	Begun func(*jsonrpc.Response, error)
	// Stale reports whether the server has been replaced since, Again subscribes at
	// the one that has replaced it, and Changed tells the client that it may have changed.
	Stale   func() bool
	Again   func(context.Context) *Hearing
	Changed func(context.Context)

	id []byte // as the client wrote it
}

// confirm waits until the servers have confirmed the parts of h, and reports whether one
// is left.
func (h *Hearing) confirm(ctx context.Context) bool {
	var resp *jsonrpc.Response
	var err error
	h.Parts = slices.DeleteFunc(h.Parts, func(p Part) bool {
		answer, failed := p.Confirm(ctx)
		refused := failed != nil || answer.Err != nil
		if resp == nil && err == nil || !refused {
			resp, err = answer, failed
		}
		return refused
	})
	if h.Begun != nil {
		h.Begun(resp, err)
		h.Begun = nil
	}
	return len(h.Parts) > 0
}

// Confirm waits until the servers have confirmed the subscriptions, and returns those that
// they accept.
func Confirm(ctx context.Context, list []*Hearing) []*Hearing {
	return slices.DeleteFunc(list, func(h *Hearing) bool { return !h.confirm(ctx) })
}

// Follow subscribes again where servers have been replaced. What fails is tried again
// with the next change.
func Follow(ctx context.Context, held []*Hearing) {
	fresh := make(map[int]*Hearing)
	for i, h := range held {
		if h.Stale != nil && h.Stale() {
			if again := h.Again(ctx); again != nil {
				fresh[i] = again
			}
		}
	}
	for i := range held {
		if h := fresh[i]; h != nil && h.confirm(ctx) {
			held[i] = h
			h.Changed(ctx)
		}
	}
}

// endsAtOnce is how many subscriptions of a client end at once: servers may be slow.
const endsAtOnce = 16

// Release ends the subscriptions of a client that listens no more. Servers are told
// within a time limit.
func Release(held []*Hearing, limit time.Duration) {
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all errgroup.Group
	all.SetLimit(endsAtOnce)
	for _, h := range held {
		all.Go(func() error {
			for _, p := range h.Parts {
				p.End(ctx)
			}
			return nil
		})
	}
	all.Wait()
}
