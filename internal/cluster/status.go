package cluster

import (
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// Status is a cluster, as one replica sees it.
type Status struct {
	Cluster string         `json:"cluster"`
	Node    string         `json:"node"` // who says so
	Engine  EngineStatus   `json:"engine"`
	Shares  bool           `json:"configShared,omitempty"` // the configuration is one text for all
	Members []MemberStatus `json:"members"`
	Placed  []PlacedStatus `json:"placed,omitempty"` // the servers that run once, by name
}

// PlacedStatus is a server that runs once in the cluster.
type PlacedStatus struct {
	Server string `json:"server"`         // schema, slash, name
	Node   string `json:"node,omitempty"` // who has it; empty while nobody has
	Epoch  uint64 `json:"epoch,omitempty"`
}

// A Move is a server that runs once and changes its replica, or would.
type Move struct {
	Server string `json:"server"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// Rebalanced is which servers move, and which stay because they are in use.
type Rebalanced struct {
	Moved []Move `json:"moved"`
	Busy  []Move `json:"busy"`
	// Silent are replicas that were not reached: theirs stay.
	Silent []string `json:"silent,omitempty"`
}

// States of an engine.
const (
	EngineNone    = "none" // there is none
	EngineReached = "reached"
	EngineAway    = "away"
)

// EngineStatus says whether the replicas can agree.
type EngineStatus struct {
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Since   time.Time `json:"since,omitzero"` // when it was reached, or lost
	Error   string    `json:"error,omitempty"`
	ErrorZH string    `json:"errorZH,omitempty"`
	Shared  int       `json:"shared,omitempty"` // records that the replicas share
}

// MemberStatus is one replica. Of one that nobody ever heard of there is only
// the address.
type MemberStatus struct {
	Member
	Self      bool   `json:"self,omitempty"`
	Reachable bool   `json:"reachable"`
	Differs   bool   `json:"differs,omitempty"` // its configuration is not that of who says so
	Skew      int    `json:"skew,omitempty"`    // seconds that its clock is behind, where that is too much
	Error     string `json:"error,omitempty"`   // why it is not reachable
	ErrorZH   string `json:"errorZH,omitempty"`
}

// An Answer is what came of asking a replica at its peer port.
type Answer struct {
	Name    string // the address as it was given
	Address string
	Member  Member        // when Err is nil
	Skew    time.Duration // how far its clock is behind ours
	Err     error
}

// Well says that all replicas are reached, and the engine if there is one.
func (s *Status) Well() bool {
	return s.Engine.State != EngineAway && !slices.ContainsFunc(s.Members, func(m MemberStatus) bool { return !m.Reachable })
}

// Compose joins what is known of the replicas: this one, those of the engine,
// and what each address answered. A replica that was not reached is known by
// the engine, or by its address alone.
func Compose(self Member, known []Member, answers []Answer) []MemberStatus {
	list := []MemberStatus{{Member: self, Self: true, Reachable: true}}
	at := func(ok func(*MemberStatus) bool) *MemberStatus {
		if i := slices.IndexFunc(list, func(m MemberStatus) bool { return ok(&m) }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	for _, a := range answers {
		if a.Err == nil && at(func(m *MemberStatus) bool { return m.Boot == a.Member.Boot }) == nil {
			list = append(list, MemberStatus{Member: a.Member, Reachable: true, Skew: tooMuch(a.Skew)})
		}
	}
	for _, one := range known {
		if at(func(m *MemberStatus) bool { return m.Node == one.Node }) == nil {
			list = append(list, MemberStatus{Member: one})
		}
	}
	for _, a := range answers {
		if a.Err == nil {
			continue
		}
		m := at(func(m *MemberStatus) bool { return m.Address == a.Name || m.Address == a.Address })
		if m == nil {
			list = append(list, MemberStatus{Member: Member{Address: a.Address}})
			m = &list[len(list)-1]
		}
		if !m.Reachable {
			m.Error, m.ErrorZH = i18n.Why(a.Err).Both()
		}
	}
	for i := range list {
		list[i].Differs = list[i].Config != "" && list[i].Config != self.Config
	}
	slices.SortStableFunc(list, func(a, b MemberStatus) int {
		if a.Node == "" || b.Node == "" { // those without a name last
			return strings.Compare(b.Node, a.Node)
		}
		return strings.Compare(a.Node, b.Node)
	})
	return list
}

// maxSkew is how far the clocks of replicas may be apart. A clock is asked by a
// date, which is up to a second old.
const maxSkew = 5 * time.Second

func tooMuch(skew time.Duration) int {
	if skew.Abs() <= maxSkew+time.Second {
		return 0
	}
	return int(skew.Round(time.Second) / time.Second)
}
