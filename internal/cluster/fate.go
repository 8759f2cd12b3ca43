package cluster

import (
	"context"
	"errors"
	"time"
)

// A Fate is the known state of one run of a replica.
type Fate uint8

// The fates.
const (
	Unseen Fate = iota // it is not a member, and its end was not observed
	Lives
	Gone // its record ended, or another run has its name
)

// fates has the known states of runs of replicas. The mutex of Members guards
// it.
type fates struct {
	watches uint64
	seen    map[string]time.Time // when the record of a run was last shown, by boot id
	ended   map[string]bool      // runs whose record has ended
	doubted map[string]bool      // runs that Bury waits for
}

func (f *fates) showed(boot string) {
	for old := range f.seen {
		if len(f.seen) < maxSerials {
			break
		}
		delete(f.seen, old)
		delete(f.ended, old)
	}
	f.seen[boot] = time.Now()
	delete(f.ended, boot)
}

func (f *fates) left(one Member) {
	if one.Boot != "" {
		f.ended[one.Boot] = true
	}
}

// Fate returns the state of one run of a replica, and when its record was last
// shown, or zero.
func (m *Members) Fate(node, boot string) (Fate, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.fates.seen[boot]
	one, there := m.members[node]
	switch {
	case there && one.Boot == boot:
		return Lives, seen
	case there || m.fates.ended[boot]:
		return Gone, seen
	}
	return Unseen, seen
}

// Engine returns the engine of the replicas, and the number of the current
// watch of members. When the number changes, other watches must be restarted
// too. The engine is nil until it is connected.
func (m *Members) Engine() (Engine, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened, m.fates.watches
}

func (m *Members) setEngine(e Engine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = e
}

// Renewed returns when the last successful write of our own record began.
func (m *Members) Renewed() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.renewed
}

func (m *Members) noteRenewal(began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.renewed = began
}

// Changes returns a channel that is closed when the members change.
func (m *Members) Changes() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

func (m *Members) changedLocked() {
	close(m.changes)
	m.changes = make(chan struct{})
}

// unrenewed is how long Bury waits for a living replica to renew its record, which
// may take a little longer than usual.
const unrenewed = renewal + renewal/2

// Bury removes the record of a run that seems to have ended, so that the others
// need not wait until it expires. A run that renews its record meanwhile lives: it
// is only not reached from here.
func (m *Members) Bury(ctx context.Context, node, boot string) error {
	engine, _ := m.Engine()
	if engine == nil || !m.doubt(boot, true) {
		return nil
	}
	defer m.doubt(boot, false)
	get, cancel := context.WithTimeout(ctx, patience)
	v, err := engine.Get(get, Live, prefix+node)
	cancel()
	if err != nil {
		return err
	}
	if r, ok := m.open(v); !ok || r.Boot != boot {
		return nil
	}
	select {
	case <-time.After(unrenewed):
	case <-ctx.Done():
		return ctx.Err()
	case <-m.done: // this replica ends
		return nil
	}
	ctx, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	if err := engine.Delete(ctx, Live, prefix+node, v.Revision); !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}

// Ended waits until it is known whether a run that cannot be found has ended: a run
// that lives renews its record soon, and the record of another one is removed.
func Ended(ctx context.Context, m *Members, node, boot string) bool {
	ctx, cancel := context.WithTimeout(ctx, unrenewed+patience)
	defer cancel()
	began, buried := time.Now(), false
	for {
		changes := m.Changes()
		fate, seen := m.Fate(node, boot)
		away, _, _ := m.Agreement()
		switch {
		case fate != Lives || time.Since(seen) >= Life: // the list is kept while the engine is away
			return true
		case away || seen.After(began):
			return false
		case !buried:
			buried = true
			go m.Bury(m.ctx, node, boot) // if it fails, nothing is known
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return false
		}
	}
}

// doubt notes that a run is being buried, or no longer. It reports false if that
// was noted before.
func (m *Members) doubt(boot string, on bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.fates.doubted[boot]
	delete(m.fates.doubted, boot)
	if on {
		m.fates.doubted[boot] = true
	}
	return before != on
}
