package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/cluster"
)

func TestCompose(t *testing.T) {
	one := func(node, boot, config string) cluster.Member {
		return cluster.Member{Node: node, Boot: boot, Address: node + ":1", Config: config, State: cluster.Ready}
	}
	gone := errors.New("gone")
	for name, tt := range map[string]struct {
		known   []cluster.Member
		answers []cluster.Answer
		want    string
	}{
		"alone":                 {nil, nil, "a self reachable"},
		"itself by a name":      {nil, []cluster.Answer{{Name: "all:1", Address: "1.1.1.1:1", Member: one("a", "1", "x")}}, "a self reachable"},
		"by address":            {nil, []cluster.Answer{{Name: "b:1", Address: "b:1", Member: one("b", "2", "x")}}, "a self reachable, b reachable"},
		"another configuration": {nil, []cluster.Answer{{Name: "b:1", Address: "b:1", Member: one("b", "2", "y")}}, "a self reachable, b reachable differs"},
		"no answer, no name":    {nil, []cluster.Answer{{Name: "b:1", Address: "b:1", Err: gone}}, "a self reachable, b:1 gone"},
		"no answer, listed":     {[]cluster.Member{one("a", "1", "x"), one("b", "2", "y")}, []cluster.Answer{{Name: "b:1", Address: "9.9.9.9:1", Err: gone}}, "a self reachable, b differs gone"},
		"started anew":          {[]cluster.Member{one("b", "2", "y")}, []cluster.Answer{{Name: "b:1", Address: "b:1", Member: one("b", "3", "x")}}, "a self reachable, b reachable"},
		"one address of two":    {[]cluster.Member{one("b", "2", "x")}, []cluster.Answer{{Name: "b:1", Address: "[::1]:1", Err: gone}, {Name: "b:1", Address: "9.9.9.9:1", Member: one("b", "2", "x")}}, "a self reachable, b reachable"},
	} {
		t.Run("cluster/status/"+name, func(t *testing.T) {
			var got []string
			for _, m := range cluster.Compose(one("a", "1", "x"), tt.known, tt.answers) {
				row := m.Node
				if row == "" {
					row = m.Address
				}
				if m.Self {
					row += " self"
				}
				if m.Reachable {
					row += " reachable"
				}
				if m.Differs {
					row += " differs"
				}
				got = append(got, strings.TrimSpace(fmt.Sprint(row, " ", m.Error)))
			}
			if all := strings.Join(got, ", "); all != tt.want {
				t.Errorf("%s, want %s", all, tt.want)
			}
		})
	}
}
