package doctor

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// A clock may differ in either direction.
func TestSkew(t *testing.T) {
	for skew, want := range map[int][2]string{
		7:  {"its clock is 7 s behind ours", "其时钟比本机慢 7 秒"},
		-7: {"its clock is 7 s ahead of ours", "其时钟比本机快 7 秒"},
	} {
		for i, lang := range []i18n.Lang{i18n.English, i18n.Chinese} {
			f := ofReplica(&env.Env{Lang: lang}, &cluster.MemberStatus{Member: cluster.Member{Node: "b", Address: "b:3096"}, Reachable: true, Skew: skew}, false)
			if f.OK || !strings.Contains(f.Detail, want[i]) || f.Fix == "" {
				t.Errorf("%d: %+v", skew, f)
			}
		}
	}
}
