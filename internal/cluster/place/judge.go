package place

import (
	"maps"
	"slices"
	"time"

	"mcp-all-in-one/internal/cluster"
)

// A Kind says where a server is, seen from this replica.
type Kind uint8

// The kinds.
const (
	Nowhere Kind = iota // nobody has it, or who has it is about to end
	Here
	There
)

// A Spot is where a server is, as far as this replica knows.
type Spot struct {
	Kind  Kind
	Owner cluster.Member // where Kind is There
	Epoch uint64
	// Hurry says that a copy that ran here until now is to be ended at once,
	// because another one may be started soon.
	Hurry bool
}

// same says that two spots mean the same to those who use the server.
func (s Spot) same(o Spot) bool {
	return s.Kind == o.Kind && s.Epoch == o.Epoch && s.Owner.Boot == o.Owner.Boot && s.Owner.Address == o.Owner.Address
}

// Where says where a server is, and a channel that is closed when it is
// somewhere else. placed is false for a server that does not run once.
func (k *Keeper) Where(name string) (spot Spot, change <-chan struct{}, placed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.nowLocked(name)
	if s == nil {
		return Spot{}, nil, false
	}
	return s.spot, s.change, true
}

// nowLocked is a server, with where it is by now; nil for one that does not run
// once.
func (k *Keeper) nowLocked(name string) *server {
	s := k.servers[name]
	if s != nil {
		k.judgeOneLocked(name, s, time.Now())
	}
	return s
}

// List is where all servers are, by name.
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

// Begin enters a copy that is about to be started here; false where the server
// is not here any more. End is called when the copy has ended.
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

// End takes a copy out that has ended.
func (k *Keeper) End(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.servers[name]; s != nil && s.running > 0 {
		s.running--
	}
	k.Wake()
}

// Holds says whether this replica has a server in an epoch.
func (k *Keeper) Holds(name string, epoch uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.nowLocked(name)
	return s != nil && s.spot.Kind == Here && s.spot.Epoch == epoch
}

// Doubt notes that the owner of an epoch says that it does not have a server.
// It is asked again later: it may not know yet.
func (k *Keeper) Doubt(name string, epoch uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.servers[name]; s != nil {
		s.doubted, s.doubtEnd = epoch, time.Now().Add(doubt)
		k.judgeOneLocked(name, s, time.Now())
	}
	k.Wake()
}

// judgeLocked finds out where all servers are by now.
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
	case r.Boot == self.Boot && s.Fence && (s.fenced == r.epoch || unsure(k.opt.Members, now)):
		s.fenced = r.epoch
		return Spot{Hurry: true}
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

// unsure says that the others may soon believe that this replica has ended.
func unsure(m *cluster.Members, now time.Time) bool {
	return now.Sub(m.Renewed()) > cluster.Life-margin
}

// member is the replica of a record, if it lives.
func member(m *cluster.Members, r record) (cluster.Member, bool) {
	for _, one := range m.List() {
		if one.Node == r.Node && one.Boot == r.Boot {
			return one, true
		}
	}
	return cluster.Member{}, false
}

// givesAwayLocked says that a server that is here is to go elsewhere: this
// replica ends, or drains and another one can have it, or it moves.
func (k *Keeper) givesAwayLocked(s *server, r record, self cluster.Member) bool {
	return k.leaving || (self.State == cluster.Draining || s.moving != 0 && s.moving == r.epoch) && k.nextLocked(s, self.Node) != ""
}

// Rebalance gives the servers that are here to the replicas that they would be
// on if all were placed now. One that is in use stays.
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

// todoLocked is what is to be written: what this replica takes, and what it
// gives away.
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
			case s.fenced == r.epoch && !unsure(k.opt.Members, now):
				// Another one may have it, and we would not know: only a writing
				// that succeeds shows that it is still ours.
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
	return append(list, k.strayLocked(self)...)
}

// handOver gives a server to the next one, or to nobody.
func handOver(m *cluster.Members, name string, s *server, self cluster.Member, r record) writing {
	w := writing{name, record{Over: r.epoch}}
	if next := nextFor(m, name, s, self.Node); next != nil {
		w.Node, w.Boot = next.Node, next.Boot
	}
	return w
}

// strayLocked gives back what was handed to this replica and is not wanted here.
func (k *Keeper) strayLocked(self cluster.Member) (list []writing) {
	for name, r := range k.records {
		if r.Node != "" && r.Boot == self.Boot && k.servers[name] == nil {
			list = append(list, writing{name, record{Over: r.epoch}})
		}
	}
	return list
}

// vacant says that nobody has a server: its owner has ended, as far as that has
// to be known. since is when the engine was reached.
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
