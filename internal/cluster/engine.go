// Package cluster is what replicas agree on: who belongs to them, and the texts
// that they share. Requests never wait for it: what they need is in the request,
// or in memory.
package cluster

import (
	"context"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// An Engine is where replicas agree: values by key, each with a revision, and
// messages to all. Keys are words with slashes between them. Its methods are
// for use by several goroutines, and fail while it is away.
type Engine interface {
	// Get returns a value; ErrNone when there is none.
	Get(ctx context.Context, bucket, key string) (Value, error)
	// Put writes a value where that revision is the last one, and where
	// revision is 0, only if there is none. It returns the new revision, or
	// ErrConflict. A value with a ttl, in whole seconds, ends by itself.
	Put(ctx context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error)
	// Delete removes a value if that revision is the last one, else it returns
	// ErrConflict.
	Delete(ctx context.Context, bucket, key string, revision uint64) error
	// Watch returns when it watches the keys that begin with prefix, which is
	// empty or ends with a slash. Until ctx ends it calls see, one value after
	// the other: first those that are present, then a Value without a key, then
	// what changes. see must return soon.
	Watch(ctx context.Context, bucket, prefix string, see func(Value)) error
	// Tell sends a message to all who hear the topic now, this replica included.
	Tell(ctx context.Context, topic string, data []byte) error
	// Hear returns when it listens, and calls hear for each message until ctx
	// ends. hear must return soon.
	Hear(ctx context.Context, topic string, hear func(data []byte)) error
}

// Live is the bucket of values that need not outlive the engine: who is there
// says so again.
const Live = "live"

// A Value is what a key has at a revision.
type Value struct {
	Key      string
	Data     []byte
	Revision uint64
	Deleted  bool // removed, or at its end
}

var (
	// ErrNone says that a key has no value.
	ErrNone = i18n.Errorf("there is no such value", "没有这个值")
	// ErrConflict says that a value was not written because somebody else
	// wrote.
	ErrConflict = i18n.Errorf("the value was changed by another replica", "该值已被其他副本更改")
)
