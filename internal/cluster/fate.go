package cluster

import (
	"context"
	"time"
)

// A Fate is what is known of one run of a replica.
type Fate uint8

// The fates.
const (
	Unseen Fate = iota // it is not among the replicas, and nobody saw its end
	Lives
	Gone // its record ended, or another run has its name
)

// fates are what became of the runs of replicas. They are guarded by the mutex
// of Members.
type fates struct {
	watches uint64
	seen    map[string]time.Time // when a record of a run was last shown, by its boot
	ended   map[string]bool      // runs whose record was seen to end
}

func newFates() fates { return fates{seen: map[string]time.Time{}, ended: map[string]bool{}} }

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

// Fate says what became of one run of a replica, and when it was last heard of;
// zero when never.
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

// Engine is what the replicas agree by, and the number of the watch that shows
// them: what else is watched is to be watched anew when it is another. It is nil
// until there is one.
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

// Renewed is when the last writing of our own record that succeeded began.
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

// Changes is closed when something about the replicas has changed.
func (m *Members) Changes() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

func (m *Members) changedLocked() {
	close(m.changes)
	m.changes = make(chan struct{})
}

// Bury removes the record of a run that is known to have ended, so that nobody
// waits for its end.
func (m *Members) Bury(ctx context.Context, node, boot string) error {
	engine, _ := m.Engine()
	if engine == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := engine.Get(ctx, Live, prefix+node)
	if err != nil {
		return err
	}
	if r, ok := m.open(v); !ok || r.Boot != boot {
		return nil
	}
	return engine.Delete(ctx, Live, prefix+node, v.Revision)
}
