package place

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"mcp-all-in-one/internal/cluster"
)

// ranked returns the replicas that may run a server, the best first. Each
// server has its own order, in which a replica with twice the weight is first
// twice as often. Replicas that the others reach only through the engine come
// and go: they are last, unless the server asks for labels.
func ranked(name string, on map[string]string, members []cluster.Member) []cluster.Member {
	fit := slices.DeleteFunc(slices.Clone(members), func(m cluster.Member) bool {
		return m.State != cluster.Ready || !satisfies(m, on)
	})
	sort.Slice(fit, func(i, j int) bool {
		if a, b := fit[i].Carried, fit[j].Carried; a != b && len(on) == 0 {
			return b
		}
		return score(name, fit[i]) > score(name, fit[j])
	})
	return fit
}

func satisfies(m cluster.Member, on map[string]string) bool {
	for label, value := range on {
		if m.Labels[label] != value {
			return false
		}
	}
	return true
}

// score is the weighted rendezvous hash.
func score(name string, m cluster.Member) float64 {
	sum := sha256.Sum256([]byte(name + "\x00" + m.Node))
	part := (float64(binary.BigEndian.Uint64(sum[:])>>11) + 0.5) / (1 << 53) // between 0 and 1
	return -float64(max(m.Weight, 1)) / math.Log(part)
}

// rankLocked returns the rank of a replica for a server, or false if it may not
// run the server.
func (k *Keeper) rankLocked(name string, s *server, node string) (int, bool) {
	if k.leaving {
		return 0, false
	}
	i := slices.IndexFunc(ranked(name, s.On, k.opt.Members.List()), func(m cluster.Member) bool { return m.Node == node })
	return i, i >= 0
}

// nextLocked returns a node, except the node not, that may run a server; "" if
// there is none.
func (k *Keeper) nextLocked(s *server, not string) string {
	if next := nextFor(k.opt.Members, "", s, not); next != nil {
		return next.Node
	}
	return ""
}

// nextFor returns the first replica, except the node not, that may run a server;
// nil if there is none.
func nextFor(members *cluster.Members, name string, s *server, not string) *cluster.Member {
	for _, m := range ranked(name, s.On, members.List()) {
		if m.Node != not {
			return &m
		}
	}
	return nil
}
