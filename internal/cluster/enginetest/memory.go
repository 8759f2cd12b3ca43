// Package enginetest tests the properties of every Engine, and has an Engine in
// memory for tests.
package enginetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/cluster"
)

// Memory is an Engine for several replicas in one process. In a
// testing/synctest bubble it uses the time of the bubble.
type Memory struct {
	mu       sync.Mutex
	away     error
	last     uint64
	values   map[place]kept
	watchers []*watcher
}

type place struct{ bucket, key string }

type kept struct {
	cluster.Value
	end *time.Timer // nil if it does not expire
}

// New returns an engine without values.
func New() *Memory { return &Memory{values: map[place]kept{}} }

// Away makes every use of the engine fail with err until it is called with nil.
// Existing watches end and must be started again.
func (m *Memory) Away(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = err
	if err != nil {
		m.watchers = nil
	}
}

// Get returns a value.
func (m *Memory) Get(_ context.Context, bucket, key string) (cluster.Value, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return cluster.Value{}, m.away
	}
	v, ok := m.values[place{bucket, key}]
	if !ok {
		return cluster.Value{}, cluster.ErrNone
	}
	return v.Value, nil
}

// Put writes a value.
func (m *Memory) Put(_ context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{bucket, key}
	if err := m.mayChange(at, revision); err != nil {
		return 0, err
	}
	m.last++
	v := kept{Value: cluster.Value{Key: key, Data: slices.Clone(data), Revision: m.last}}
	if ttl > 0 {
		v.end = time.AfterFunc(ttl, func() { m.expire(at, v.Revision) })
	}
	m.values[at] = v
	m.tellWatchers(bucket, v.Value)
	return m.last, nil
}

// Delete removes a value.
func (m *Memory) Delete(_ context.Context, bucket, key string, revision uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{bucket, key}
	if err := m.mayChange(at, revision); err != nil {
		return err
	}
	if revision == 0 { // there is nothing to remove
		return cluster.ErrConflict
	}
	m.remove(at)
	return nil
}

// mayChange returns an error if the value may not be changed; else it stops the
// expiry timer of the value.
func (m *Memory) mayChange(at place, revision uint64) error {
	if m.away != nil {
		return m.away
	}
	v := m.values[at]
	if v.Revision != revision {
		return cluster.ErrConflict
	}
	if v.end != nil {
		v.end.Stop()
	}
	return nil
}

func (m *Memory) expire(at place, revision uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values[at].Revision == revision {
		m.remove(at)
	}
}

func (m *Memory) remove(at place) {
	delete(m.values, at)
	m.last++
	m.tellWatchers(at.bucket, cluster.Value{Key: at.key, Revision: m.last, Deleted: true})
}

type watcher struct {
	bucket, prefix string
	queue          queue[cluster.Value]
}

func (m *Memory) tellWatchers(bucket string, v cluster.Value) {
	for _, w := range m.watchers {
		if w.bucket == bucket && strings.HasPrefix(v.Key, w.prefix) {
			w.queue.add(v)
		}
	}
}

// Watch watches values.
func (m *Memory) Watch(ctx context.Context, bucket, prefix string, see func(cluster.Value)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return m.away
	}
	w := &watcher{bucket: bucket, prefix: prefix}
	var present []cluster.Value
	for at, v := range m.values {
		if at.bucket == bucket && strings.HasPrefix(at.key, prefix) {
			present = append(present, v.Value)
		}
	}
	slices.SortFunc(present, func(a, b cluster.Value) int { return int(a.Revision) - int(b.Revision) })
	for _, v := range append(present, cluster.Value{}) {
		w.queue.add(v)
	}
	m.watchers = append(m.watchers, w)
	w.queue.serve(ctx, see, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.watchers = slices.DeleteFunc(slices.Clone(m.watchers), func(o *watcher) bool { return o == w })
	})
	return nil
}
