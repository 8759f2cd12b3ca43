package cluster

import (
	"context"
	"time"
)

// maxSerials limits how many runs of replicas are remembered.
const maxSerials = 10_000

// watch starts to follow the records of all members. The previous list stays in
// use until the present records have been shown.
func (m *Members) watch() error {
	ctx, cancel := context.WithCancel(m.ctx)
	m.mu.Lock()
	m.shown = time.Now()
	m.fates.watches++
	for key := range m.refused {
		m.refused[key] = false
	}
	m.mu.Unlock()
	fresh, present := map[string]Member{}, true
	err := m.engine.Watch(ctx, Live, prefix, func(v Value) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		switch {
		case v.Key == "":
			present = false
			m.members = fresh
		case v.Deleted:
			m.fates.left(fresh[v.Key[len(prefix):]])
			delete(fresh, v.Key[len(prefix):])
			if m.refused[v.Key] {
				m.refused[v.Key] = false
			}
		default:
			m.take(fresh, v)
		}
		if !present {
			m.reached()
			m.changedLocked()
		}
	})
	if err != nil {
		cancel()
		return err
	}
	m.unwatch = cancel
	return nil
}

// take adds the member of a record. m.mu is held.
func (m *Members) take(to map[string]Member, v Value) {
	r, ok := m.open(v)
	if !ok || r.Serial < m.serials[r.Boot] {
		if _, before := m.refused[v.Key]; !before {
			m.opt.Log.Warn("record of a replica refused: it was not sealed with the cluster's secret, or is outdated", "key", v.Key)
		}
		m.refused[v.Key] = !ok
		return
	}
	delete(m.refused, v.Key)
	for boot := range m.serials {
		if len(m.serials) < maxSerials {
			break
		}
		delete(m.serials, boot)
	}
	if before, known := to[r.Node]; known && before.Boot != r.Boot {
		// Of that run only a record that was not shown yet counts: it returns when
		// the other replica of its name has left.
		m.serials[before.Boot]++
	}
	m.serials[r.Boot] = r.Serial
	m.fates.showed(r.Boot)
	if m.opt.Reach != nil {
		r.Address = m.opt.Reach(r.Member)
	}
	to[r.Node] = r.Member
}

// reached records that the engine shows the members, if our own record is among
// them. m.mu is held.
func (m *Members) reached() {
	self := m.opt.Self()
	if own, ok := m.members[self.Node]; !ok || own.Boot != self.Boot {
		return
	}
	m.shown = time.Now()
	if m.away {
		m.away, m.since, m.why = false, m.shown, nil
		m.opt.Log.Info("cluster engine reached", "members", len(m.members))
	}
}

// lost records that the engine is away. Nothing waits for it.
func (m *Members) lost(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away && m.why != nil {
		m.why = err
		return
	}
	if !m.away {
		m.away, m.since = true, m.shown
	}
	m.why = err
	m.opt.Log.Warn("cluster engine unreachable: calls continue, changes among the replicas are not seen", "since", m.since, "err", err)
}
