package doctor

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// What to do about a replica depends on why it is not well.
func TestReplicaFixes(t *testing.T) {
	a := &env.Env{Lang: i18n.English}
	for name, tt := range map[string]struct {
		m    cluster.MemberStatus
		want string
	}{
		"an HTTP port":             {cluster.MemberStatus{Error: "tls: first record does not look like a TLS handshake"}, "no port for replicas"},
		"another secret":           {cluster.MemberStatus{Error: "tls: failed to verify certificate"}, "the same cluster.secret"},
		"a name that is not known": {cluster.MemberStatus{Error: "the name b does not resolve here"}, "cluster.advertise there"},
		"drained":                  {cluster.MemberStatus{Member: cluster.Member{State: cluster.Draining}, Reachable: true}, "start it again"},
	} {
		if f := ofReplica(a, &tt.m, false); f.OK || !strings.Contains(f.Fix, tt.want) {
			t.Errorf("cluster/doctor/%s: %+v", name, f)
		}
	}
	if fix := fixEngine(a, "another replica is called gw1 too, at b:3096: set cluster.node"); !strings.Contains(fix, "its own cluster.node") {
		t.Errorf("cluster/doctor/same name: %s", fix)
	}
}

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
