package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAudit checks what the audit trail says of a call that one replica forwards to
// another, and that its trace goes on there.
func TestAudit(t *testing.T) {
	c := start(t, 3, options{members: true, alter: func(_ int, r *replica, text string) string {
		return strings.Replace(text, `"logging":`, fmt.Sprintf(`"audit":{"file":%q},"logging":`, r.trail()), 1)
	}})
	a, b := c.replicas[0], c.replicas[1]
	const trace = "0af7651916cd43dd8448eb211c80319c"
	line := func(id, token string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"back__echo","arguments":{"token":%q},"_meta":{"traceparent":"00-%s-b7ad6b7169203331-01"}}}`, id, token, trace)
	}
	s := client(t, a, `{}`)
	wants(t, s.Post(line("1", "here")).Answer(t), "here")
	wants(t, at(s, b).Post(line(`"two"`, "there")).Answer(t), "there")
	calls := func(r *replica) []audited {
		return slices.DeleteFunc(r.audited(), func(e audited) bool { return e.Method != "tools/call" })
	}
	await(t, "both calls are in the trail", func() bool { return len(calls(a)) == 2 })
	list := calls(a)
	if t.Failed() {
		t.Fatalf("%+v, %+v", a.audited(), b.audited())
	}
	t.Run("cluster/audit/replica", func(t *testing.T) {
		if e := list[0]; e.Replica != "a" || e.From != "" || e.Request != nil {
			t.Errorf("its own call: %+v", e)
		}
		if e := list[1]; e.Replica != "a" || e.From != "b" || string(e.Request) != `"two"` {
			t.Errorf("the forwarded call: %+v", e)
		}
		if other := calls(b); len(other) > 0 { // it was decided on once
			t.Errorf("b says %+v", other)
		}
	})
	t.Run("cluster/audit/trace", func(t *testing.T) {
		for _, e := range list {
			if e.Trace != trace {
				t.Errorf("trace %q", e.Trace)
			}
		}
	})
	t.Run("cluster/audit/restored", func(t *testing.T) {
		a.kill()
		wants(t, at(s, b).Post(line("3", "moved")).Answer(t), "moved")
		wants(t, at(s, c.replicas[2]).Post(line("4", "again")).Answer(t), "again")
		for i, r := range c.replicas[1:] { // one of them has the session now, and the other one forwards
			other, id := c.replicas[2-i], fmt.Sprint(4-i)
			await(t, "the trail of "+r.name+" or "+other.name, func() bool { return len(calls(r))+len(calls(other)) == 2 })
			for _, e := range calls(r) {
				if e.From != "" && (e.From != other.name || string(e.Request) != id) || e.Replica != r.name {
					t.Errorf("%s says %+v", r.name, e)
				}
			}
		}
		if n := len(slices.DeleteFunc(append(calls(b), calls(c.replicas[2])...), func(e audited) bool { return e.From == "" })); n != 1 {
			t.Errorf("%d calls were forwarded: %+v, %+v", n, calls(b), calls(c.replicas[2]))
		}
	})
}
