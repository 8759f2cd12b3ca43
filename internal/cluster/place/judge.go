package place

import (
	"maps"
	"slices"
	"time"

	"mcp-all-in-one/internal/cluster"
)

// A Kind says where a server runs, seen from this replica.
type Kind uint8

// The kinds.
const (
	Nowhere Kind = iota // it has no owner, or the owner is about to stop
	Here
	There
)

// A Spot is where a server runs, as far as this replica knows.
type Spot struct {
	Kind  Kind
	Owner cluster.Member // set if Kind is There
	Epoch uint64
	// Hurry means that a copy that still runs here must be stopped at once,
	// because another replica may start one soon.
	Hurry bool
}

// same reports whether two spots are equal for the users of the server.
func (s Spot) same(o Spot) bool {
	return s.Kind == o.Kind && s.Epoch == o.Epoch && s.Owner.Boot == o.Owner.Boot && s.Owner.Address == o.Owner.Address
}

// Where returns where a server runs, and a channel that is closed when that
// changes. placed is false for a server that does not run once in the cluster.
func (k *Keeper) Where(name string) (spot Spot, change <-chan struct{}, placed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.nowLocked(name)
	if s == nil {
		return Spot{}, nil, false
	}
	return s.spot, s.change, true
}

// nowLocked returns a server with its current spot, or nil if it does not run
// once in the cluster.
func (k *Keeper) nowLocked(name string) *server {
	s := k.servers[name]
	if s != nil {
		k.judgeOneLocked(name, s, time.Now())
	}
	return s
}

// List returns where all servers run, by name.
func (k *Keeper) List() (list []cluster.PlacedStatus) {
	k.mu.Lock()
	defer k.mu.Unlock()
	self := k.opt.Self().Node
	for _, name := range slices.Sorted(maps.Keys(k.servers)) {
		s := k.servers[name]
		k.judgeOneLocked(name, s, time.Now())
		one := cluster.PlacedStatus{Server: name, Epoch: s.spot.Epoch}
		switch s.spot.Kind {
		case Here:
			one.Node = self
		case There:
			one.Node = s.spot.Owner.Node
		}
		list = append(list, one)
	}
	return list
}

// Begin registers a copy that is about to start here. It returns false if the
// server does not belong to this replica any more. End must be called when the
// copy has ended.
func (k *Keeper) Begin(name string, epoch uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.nowLocked(name)
	if s == nil || s.spot.Kind != Here || s.spot.Epoch != epoch {
		return false
	}
	s.running++
	return true
}

// End unregisters a copy that has ended.
func (k *Keeper) End(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.servers[name]; s != nil && s.running > 0 {
		s.running--
	}
	k.Wake()
}

// Holds reports whether this replica owns a server in an epoch.
func (k *Keeper) Holds(name string, epoch uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.nowLocked(name)
	return s != nil && s.spot.Kind == Here && s.spot.Epoch == epoch
}

// Doubt records that the owner of an epoch denies having a server. It is asked
// again later, because it may not know yet.
func (k *Keeper) Doubt(name string, epoch uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.servers[name]; s != nil {
		s.doubted, s.doubtEnd = epoch, time.Now().Add(doubt)
		k.judgeOneLocked(name, s, time.Now())
	}
	k.Wake()
}

// judgeLocked updates the spots of all servers.
func (k *Keeper) judgeLocked() {
	now := time.Now()
	for name, s := range k.servers {
		k.judgeOneLocked(name, s, now)
	}
}

func (k *Keeper) judgeOneLocked(name string, s *server, now time.Time) {
	spot := k.spotLocked(name, s, now)
	if same := spot.same(s.spot); !same {
		close(s.change)
		s.change = make(chan struct{})
	}
	s.spot = spot
}

func (k *Keeper) spotLocked(name string, s *server, now time.Time) Spot {
	r, self := k.records[name], k.opt.Self()
	switch {
	case !k.known || r.Node == "":
		return Spot{}
	case r.Boot == self.Boot && s.Fence && unsure(k.opt.Members, now):
		s.written = 0
		return Spot{Hurry: true}
	case r.Boot == self.Boot && (s.Fence || r.old) && s.written != r.epoch:
		return Spot{Hurry: s.Fence}
	case r.Boot == self.Boot && k.givesAwayLocked(s, r, self):
		return Spot{}
	case r.Boot == self.Boot:
		return Spot{Kind: Here, Epoch: r.epoch}
	case s.doubted == r.epoch && now.Before(s.doubtEnd):
		return Spot{}
	}
	owner, lives := member(k.opt.Members, r)
	if !lives || owner.State == cluster.Draining && k.nextLocked(s, owner.Node) != "" {
		return Spot{Hurry: s.Fence}
	}
	return Spot{Kind: There, Owner: owner, Epoch: r.epoch, Hurry: s.Fence}
}

// unsure reports whether the others may soon assume that this replica has
// ended.
func unsure(m *cluster.Members, now time.Time) bool {
	return now.Sub(m.Renewed()) > cluster.Life-margin
}

// member returns the replica that a record names, if it is alive.
func member(m *cluster.Members, r record) (cluster.Member, bool) {
	for _, one := range m.List() {
		if one.Node == r.Node && one.Boot == r.Boot {
			return one, true
		}
	}
	return cluster.Member{}, false
}

// givesAwayLocked reports whether a server that runs here must move: this
// replica stops, or it drains and another replica can take the server, or the
// server is being moved.
func (k *Keeper) givesAwayLocked(s *server, r record, self cluster.Member) bool {
	return k.leaving || (self.State == cluster.Draining || s.moving != 0 && s.moving == r.epoch) && k.nextLocked(s, self.Node) != ""
}

// Rebalance gives the servers of this replica to the replicas that would get
// them if all servers were placed now. A server in use stays.
func (k *Keeper) Rebalance(idle func(server string) bool) (out cluster.Rebalanced) {
	k.mu.Lock()
	defer k.mu.Unlock()
	self := k.opt.Self()
	for _, name := range slices.Sorted(maps.Keys(k.servers)) {
		s := k.nowLocked(name)
		first := ranked(name, s.On, k.opt.Members.List())
		if s.spot.Kind != Here || len(first) == 0 || first[0].Node == self.Node {
			continue
		}
		move := cluster.Move{Server: name, From: self.Node, To: first[0].Node}
		if !idle(name) {
			out.Busy = append(out.Busy, move)
			continue
		}
		s.moving = s.spot.Epoch
		out.Moved = append(out.Moved, move)
	}
	k.judgeLocked()
	k.Wake()
	return out
}

// todoLocked returns the records to write: for the servers that this replica
// takes, and for those that it gives away.
func (k *Keeper) todoLocked() (list []writing) {
	away, since, _ := k.opt.Members.Agreement()
	if !k.known || !k.wanted || away {
		return nil
	}
	now, self := time.Now(), k.opt.Self()
	for name, s := range k.servers {
		r := k.records[name]
		if r.Boot == self.Boot && r.Node != "" {
			s.vacant = time.Time{}
			switch {
			case s.running > 0:
			case k.givesAwayLocked(s, r, self):
				list = append(list, handOver(k.opt.Members, name, s, self, r))
			case (s.Fence || r.old) && s.written != r.epoch && !unsure(k.opt.Members, now):
				// Another replica may have taken the server without our
				// knowledge, or may be about to: it was given to us while we
				// were cut off. Only a successful write proves that it is ours.
				// And a replica that knows only the new secret must be able to
				// read the record.
				list = append(list, writing{name, record{Node: self.Node, Boot: self.Boot, Over: r.epoch}})
			}
			continue
		}
		if !vacant(k.opt.Members, s, r, now, since) {
			s.vacant = time.Time{}
			continue
		}
		if s.vacant.IsZero() {
			s.vacant = now
		}
		if rank, may := k.rankLocked(name, s, self.Node); may && now.Sub(s.vacant) >= time.Duration(rank)*turn {
			list = append(list, writing{name, record{Node: self.Node, Boot: self.Boot, Over: r.epoch}})
		}
	}
	list = append(list, k.strayLocked(self)...)
	for _, name := range k.reseal { // only after the start: others may have another first secret
		if r := k.records[name]; r.Node == "" && r.old {
			list = append(list, writing{name, record{Over: r.epoch}})
		}
	}
	k.reseal = nil
	return list
}

// handOver assigns a server to the next replica, or to none.
func handOver(m *cluster.Members, name string, s *server, self cluster.Member, r record) writing {
	w := writing{name, record{Over: r.epoch}}
	if next := nextFor(m, name, s, self.Node); next != nil {
		w.Node, w.Boot = next.Node, next.Boot
	}
	return w
}

// strayLocked releases servers that were assigned to this replica but that Want
// did not list.
func (k *Keeper) strayLocked(self cluster.Member) (list []writing) {
	for name, r := range k.records {
		if r.Node != "" && r.Boot == self.Boot && k.servers[name] == nil {
			list = append(list, writing{name, record{Over: r.epoch}})
		}
	}
	return list
}

// vacant reports whether a server has no owner: the owner has ended, with the
// certainty that the server requires. since is when the engine was reached.
func vacant(m *cluster.Members, s *server, r record, now, since time.Time) bool {
	if now.Sub(since) < settle {
		return false
	}
	if r.Node == "" {
		return true
	}
	fate, seen := m.Fate(r.Node, r.Boot)
	if seen.IsZero() {
		seen = since
	}
	switch {
	case fate == cluster.Lives:
		return false
	case s.Fence:
		return now.Sub(seen) >= cluster.Life
	}
	return fate == cluster.Gone || now.Sub(since) >= absent
}
