// Package cluster maintains what replicas agree on: the list of members, and
// the texts that they share. Requests never wait for it: the data they need is
// in the request or in memory.
package cluster

import (
	"context"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// An Engine stores the shared state of replicas: values by key, each with a
// revision. A key consists of words separated by slashes. Methods may be called
// by several goroutines, and fail while the engine is away.
type Engine interface {
	// Get returns a value, or ErrNone.
	Get(ctx context.Context, bucket, key string) (Value, error)
	// Put writes a value if revision is the last revision of the key; revision
	// 0 means that the key must not exist. It returns the new revision, or
	// ErrConflict. A value with a ttl, in whole seconds, expires.
	Put(ctx context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error)
	// Delete removes a value if revision is its last revision, else it returns
	// ErrConflict.
	Delete(ctx context.Context, bucket, key string, revision uint64) error
	// Watch returns when it watches the keys that begin with prefix, which is
	// empty or ends with a slash. Until ctx ends it calls see, one value at a
	// time: first the present values, then a Value without a key, then changes.
	// see must return quickly.
	Watch(ctx context.Context, bucket, prefix string, see func(Value)) error
}

// Live is the bucket of values that may be lost with the engine: running
// replicas write them again.
const Live = "live"

// Places is the bucket that says on which replica each server runs of which the
// cluster runs one process.
const Places = "place"

// A Value is the value of a key at a revision.
type Value struct {
	Key      string
	Data     []byte
	Revision uint64
	Deleted  bool // removed or expired
}

var (
	// ErrNone means that a key has no value.
	ErrNone = i18n.Errorf("there is no such value", "没有这个值")
	// ErrConflict means that a value was not written because another replica
	// wrote first.
	ErrConflict = i18n.Errorf("the value was changed by another replica", "该值已被其他副本更改")
)
