package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// TestNamesThatDoNotResolve checks that replicas that do not find each other's
// names leave each other and their servers alone, and say what is wrong.
func TestNamesThatDoNotResolve(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	c, log := placedWith(t, "", options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL),
		between: func(i int, peer string) (string, string) {
			return fmt.Sprintf("%c.invalid%s", 'a'+i, peer[strings.LastIndexByte(peer, ':'):]), ""
		},
	})
	has, others := c.owner(t, c.replicas...)
	awaitSays(t, has, "before")
	before := runs(t, log)
	t.Run("cluster/names/server stays", func(t *testing.T) {
		for _, r := range others {
			if err := trySays(t, r, "nobody hears it"); err == nil {
				t.Error("it was reached")
			}
		}
		if list := runs(t, log); len(list) != len(before) {
			t.Errorf("processes %v, before %v", list, before)
		}
		awaitSays(t, has, "after")
	})
	t.Run("cluster/names/status", func(t *testing.T) {
		out, why, code := has.run("cluster", "status")
		for _, r := range others {
			if code != 4 || !strings.Contains(out+why, r.name+".invalid does not resolve") || !strings.Contains(out+why, "cluster.advertise") {
				t.Errorf("exit code %d\n%s\n%s", code, out, why)
			}
		}
	})
	t.Run("cluster/names/doctor", func(t *testing.T) {
		out, why, code := has.run("doctor")
		if code == 0 || !strings.Contains(out, "replica "+others[0].name) || !strings.Contains(out, "set cluster.advertise") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
	})
	t.Run("cluster/names/dies", func(t *testing.T) {
		s := client(t, has, `{}`)
		began := time.Now()
		has.kill()
		next := at(s, others[0])
		await(t, "the session begins again elsewhere", func() bool {
			m := next.Post(call(1, "back__echo", "again")).Answer(t)
			return m.Error == nil && strings.Contains(string(m.Result), "again")
		})
		if took := time.Since(began); took > 12*time.Second { // the record is removed after 3 s
			t.Errorf("it took %v", took)
		}
	})
}

// TestAnnouncedAddress checks that a replica that answers at its address in members,
// and not at the one that it announces, is reported: requests to its sessions go
// there.
func TestAnnouncedAddress(t *testing.T) {
	besideOthers(t)
	closed := mcptest.FreePort(t)
	c := start(t, 3, options{members: true, between: func(i int, peer string) (string, string) {
		return []string{peer, "b.invalid" + peer[strings.LastIndexByte(peer, ':'):], "127.0.0.1:" + closed}[i], ""
	}})
	want := map[string]string{"b": "b.invalid does not resolve", "c": "announces, 127.0.0.1:" + closed}
	out, why, code := c.replicas[0].run("cluster", "status")
	found, errs, doctor := c.replicas[0].run("doctor")
	for name, text := range want {
		t.Run("cluster/names/announced/"+name, func(t *testing.T) {
			if code != 4 || !strings.Contains(out, text) {
				t.Errorf("status: exit code %d\n%s\n%s", code, out, why)
			}
			if doctor == 0 || !strings.Contains(found, text) || strings.Count(found, "set cluster.advertise there") != len(want) {
				t.Errorf("doctor: exit code %d\n%s\n%s", doctor, found, errs)
			}
		})
	}
}
