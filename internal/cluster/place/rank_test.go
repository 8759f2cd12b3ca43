package place

import (
	"fmt"
	"testing"

	"mcp-all-in-one/internal/cluster"
)

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
