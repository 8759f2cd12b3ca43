package cluster

import (
	"slices"
	"sort"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// Status is the state of a cluster as one replica sees it.
type Status struct {
	Cluster string         `json:"cluster"`
	Node    string         `json:"node"` // the replica that reports
	Engine  EngineStatus   `json:"engine"`
	Shares  bool           `json:"configShared,omitempty"` // all replicas share one configuration text
	Members []MemberStatus `json:"members"`
	// Strangers are recent connections to the peer port that no replica opened.
	// HostsRefused are recent requests for a host that is not in server.hosts. Nil
	// for none.
	Strangers    *Events        `json:"strangers,omitempty"`
	HostsRefused *Events        `json:"hostsRefused,omitempty"`
	Placed       []PlacedStatus `json:"placed,omitempty"` // servers that run once, by name
}

// Events are recent events of one kind.
type Events struct {
	Count int       `json:"count"`
	What  string    `json:"what,omitempty"` // of the last one
	From  string    `json:"from"`           // address of the last one, without its port
	Last  time.Time `json:"last"`
}

// PlacedStatus is a server that runs once in the cluster.
type PlacedStatus struct {
	Server string `json:"server"`         // schema, slash, name
	Node   string `json:"node,omitempty"` // the owner; empty if there is none
	Epoch  uint64 `json:"epoch,omitempty"`
}

// A Move is a server that moves to another replica, or would move if it were
// not in use.
type Move struct {
	Server string `json:"server"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// Rebalanced lists the servers that move, and those that stay because they are
// in use.
type Rebalanced struct {
	Moved []Move `json:"moved"`
	Busy  []Move `json:"busy"`
	// Silent are replicas that were not reached; their servers stay.
	Silent []string `json:"silent,omitempty"`
}

// States of an engine.
const (
	EngineNone    = "none" // no engine is configured
	EngineReached = "reached"
	EngineAway    = "away"
)

// EngineStatus is the state of the engine.
type EngineStatus struct {
	Name    string    `json:"name"`
	State   string    `json:"state"`
	Since   time.Time `json:"since,omitzero"` // when it was reached or lost
	Error   string    `json:"error,omitempty"`
	ErrorZH string    `json:"errorZH,omitempty"`
	Shared  int       `json:"shared,omitempty"` // number of shared records
	// Unopened is the number of replicas whose records were not sealed with our
	// secret.
	Unopened int `json:"unopened,omitempty"`
}

// OtherSecret says that n replicas have another secret.
func OtherSecret(n int) i18n.Text {
	if n == 1 {
		return i18n.New("1 replica in the engine has another secret: neither it nor this one sees the other", "引擎中有 1 个副本的密钥不同：它与本副本互不可见")
	}
	return i18n.New("%d replicas in the engine have another secret: neither they nor this one see the other", "引擎中有 %d 个副本的密钥不同：它们与本副本互不可见", n)
}

// MemberStatus is the state of one replica. If the replica was never heard of,
// only its address is set.
type MemberStatus struct {
	Member
	Self      bool   `json:"self,omitempty"`
	Reachable bool   `json:"reachable"`
	Differs   bool   `json:"differs,omitempty"` // its configuration differs from that of the reporting replica
	Skew      int    `json:"skew,omitempty"`    // seconds that its clock is behind, if that is too much
	Error     string `json:"error,omitempty"`   // why it is not reachable
	ErrorZH   string `json:"errorZH,omitempty"`
	// Back is why it does not reach the reporting replica; empty if it does, or was
	// not asked.
	Back   string `json:"back,omitempty"`
	BackZH string `json:"backZH,omitempty"`
}

// An Answer is the result of a request to the peer port of a replica.
type Answer struct {
	Name    string // the address as configured
	Address string
	Member  Member        // valid if Err is nil
	Skew    time.Duration // how far its clock is behind ours
	Err     error
}

// Well reports whether all replicas, and the engine if there is one, are
// reachable. A replica with another secret is not.
func (s *Status) Well() bool {
	return s.Engine.State != EngineAway && s.Engine.Unopened == 0 && !slices.ContainsFunc(s.Members, func(m MemberStatus) bool { return !m.Reachable })
}

// Carries reports whether the engine carries the connections between the
// replica that reports and another one.
func (s *Status) Carries(m *MemberStatus) bool {
	return m.Carried || slices.ContainsFunc(s.Members, func(one MemberStatus) bool { return one.Self && one.Carried })
}

// Compose merges what is known of the replicas: this one, the members in the
// engine, and the answer of each address. A replica that was not reached is
// known from the engine, or only by its address.
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
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i].Node, list[j].Node
		return a != "" && (b == "" || a < b) // unnamed replicas last
	})
	return list
}

// maxSkew is how far the clocks of replicas may differ. The clock is read from
// a Date header, which is up to a second old.
const maxSkew = 5 * time.Second

func tooMuch(skew time.Duration) int {
	if skew.Abs() <= maxSkew+time.Second {
		return 0
	}
	return int(skew.Round(time.Second) / time.Second)
}
