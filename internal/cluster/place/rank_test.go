package place

import (
	"fmt"
	"testing"

	"mcp-all-in-one/internal/cluster"
)

// A replica with twice the weight is first twice as often. One without a weight, of
// a release that did not write it, counts as 1 at every replica.
func TestWeight(t *testing.T) {
	const servers = 3000
	first := map[string]int{}
	for i := range servers {
		name := fmt.Sprint("default/s", i)
		list := ranked(name, nil, []cluster.Member{{Node: "old", State: cluster.Ready}, {Node: "new", State: cluster.Ready, Weight: 2}})
		first[list[0].Node]++
		written := ranked(name, nil, []cluster.Member{{Node: "old", State: cluster.Ready, Weight: 1}, {Node: "new", State: cluster.Ready, Weight: 2}})
		if written[0].Node != list[0].Node {
			t.Fatalf("%s: %s, with a written weight %s", name, list[0].Node, written[0].Node)
		}
	}
	if n := first["new"]; n < servers*2/3-150 || n > servers*2/3+150 {
		t.Errorf("the replica of weight 2 is first for %d of %d servers", n, servers)
	}
}

// A replica without a peer port is the last one to take a server, unless the
// server asks for labels.
func TestCarriedLast(t *testing.T) {
	members := []cluster.Member{
		{Node: "a", State: cluster.Ready}, {Node: "b", State: cluster.Ready},
		{Node: "laptop", State: cluster.Ready, Carried: true, Weight: 64, Labels: map[string]string{"where": "laptop"}},
	}
	for i := range 100 {
		name := fmt.Sprint("default/s", i)
		if list := ranked(name, nil, members); len(list) != 3 || list[2].Node != "laptop" {
			t.Fatalf("%s: %v", name, list)
		}
		if list := ranked(name, map[string]string{"where": "laptop"}, members); len(list) != 1 || list[0].Node != "laptop" {
			t.Fatalf("%s: %v", name, list)
		}
	}
}
