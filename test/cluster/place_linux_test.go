package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/test/balancers"
	"mcp-all-in-one/test/figures"
)

// placed starts replicas with NATS and a server that runs once, which is the
// default with an engine.
func placed(t *testing.T, more string) (c *cluster, log string) {
	t.Helper()
	server := mcptest.StartNATS(t)
	return placedWith(t, more, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: withMetrics})
}

// placedWith is placed with options for the replicas.
func placedWith(t *testing.T, more string, o options) (c *cluster, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "runs")
	// A process that finds another one alive writes that to a second file.
	o.servers += fmt.Sprintf(`,"once":{"command":"sh","args":["-c","while read pid epoch; do kill -0 $pid && echo $pid $$ >> %[1]s.two; done < %[1]s; echo $$ $MCP_FENCING_TOKEN >> %[1]s; exec %[2]s -era legacy"]%[3]s}`, log, mcptest.Build(t), more)
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, 3, o), log
}

// A run is one process of the server.
type run struct{ pid, epoch int }

// runs returns the processes of the server so far.
func runs(t *testing.T, log string) (list []run) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		pid, _ := strconv.Atoi(f[0])
		epoch, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		list = append(list, run{pid, epoch})
	}
	return list
}

func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// owner returns the replica that runs the server, and the others.
func (c *cluster) owner(t *testing.T, list ...*replica) (has *replica, others []*replica) {
	t.Helper()
	await(t, "a replica has the server", func() bool {
		has, others = nil, nil
		for _, r := range list {
			if s, _ := r.status(); len(s.Placed) == 1 && s.Placed[0].Node == r.name {
				has = r
			} else {
				others = append(others, r)
			}
		}
		return has != nil && len(others) == len(list)-1
	})
	if has == nil {
		t.FailNow()
	}
	return has, others
}

// says calls the echo of the server that runs once.
func says(t *testing.T, r *replica, text string) mcptest.Message {
	t.Helper()
	return client(t, r, `{}`).Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"once__echo","arguments":{"message":%q}}}`, text)).Answer(t)
}

// TestPlaced checks that a server that runs once has one process, which every
// replica can call.
func TestPlaced(t *testing.T) {
	c, log := placed(t, "")
	t.Run("cluster/place/once", func(t *testing.T) {
		for _, r := range c.replicas {
			wants(t, says(t, r, "by "+r.name), "by "+r.name)
		}
		if list := runs(t, log); len(list) != 1 || list[0].epoch == 0 || !lives(list[0].pid) {
			t.Errorf("processes %v", list)
		}
	})
	has, others := c.owner(t, c.replicas...)
	t.Run("cluster/place/status", func(t *testing.T) {
		out, why, code := others[0].run("status")
		if code != 0 || !strings.Contains(out, "(on "+has.name+")") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
		out, why, code = others[0].run("cluster", "status")
		if code != 0 || !strings.Contains(out, "default/once") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
		if got := others[0].metric(fmt.Sprintf("mcp_gateway_cluster_placed{node=%q}", has.name)); got != "1" {
			t.Errorf("the metrics say that %s has %s servers", has.name, got)
		}
	})
	for _, r := range []*replica{has, others[0]} {
		where := "owner"
		if r != has {
			where = "another replica"
		}
		t.Run("cluster/place/question/legacy/"+where, func(t *testing.T) {
			s := client(t, r, `{"elicitation":{}}`)
			running := s.Stream(http.MethodPost, call(1, "once__ask_name", ""))
			asked := running.Message(t, "the question", func(m *mcptest.Message) bool { return m.Method == "elicitation/create" })
			s.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, asked.ID))
			wants(t, running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" }), "Ada")
		})
		t.Run("cluster/place/question/modern/"+where, func(t *testing.T) {
			more := accepted(t, modernCall(t, r, "once__ask_name", ""))
			wants(t, modernCall(t, others[1], "once__ask_name", more), "Ada")
		})
		t.Run("cluster/place/progress/legacy/"+where, func(t *testing.T) {
			s := client(t, r, `{}`)
			running := s.Stream(http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":0.2,"steps":2},"_meta":{"progressToken":"p"}}}`)
			m := running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
			if !strings.Contains(m.Raw, `"progressToken":"p"`) {
				t.Errorf("progress %s", m.Raw)
			}
			running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" && m.Error == nil })
		})
		t.Run("cluster/place/progress/modern/"+where, func(t *testing.T) {
			s := mcptest.NewRawHTTP(t, r.url())
			s.Header.Set("Mcp-Protocol-Version", modern)
			s.Header.Set("Mcp-Method", "tools/call")
			s.Header.Set("Mcp-Name", "once__long_task")
			running := s.Stream(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"once__long_task","arguments":{"seconds":0.2,"steps":2},"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, modern))
			running.Message(t, "progress", func(m *mcptest.Message) bool { return m.Method == "notifications/progress" })
			running.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" && m.Error == nil })
		})
	}
	t.Run("cluster/place/large", func(t *testing.T) {
		text := strings.Repeat("x", 3<<20)
		for _, r := range c.replicas {
			wants(t, says(t, r, text), text)
		}
	})
	t.Run("cluster/drain", func(t *testing.T) {
		if out, why, code := others[0].run("cluster", "drain", has.name); code != 0 {
			t.Fatalf("exit code %d\n%s\n%s", code, out, why)
		}
		next, _ := c.owner(t, others...)
		for _, r := range c.replicas {
			wants(t, says(t, r, "drained, by "+r.name), "drained, by "+r.name)
		}
		alive := 0
		for _, one := range runs(t, log) {
			if lives(one.pid) {
				alive++
			}
		}
		if alive == 0 || next == has {
			t.Errorf("%d processes live, on %s", alive, next.name)
		}
	})
}

// TestRollingPlaced restarts all replicas, one after the other, while clients call a
// server that runs once. It moves with each restart of its replica, and no call
// fails.
func TestRollingPlaced(t *testing.T) {
	t.Run("fault/T46/placed", func(t *testing.T) {
		server := mcptest.StartNATS(t)
		c, _ := placedWith(t, "", options{section: fmt.Sprintf(`,"drainDelay":"5s","engine":"nats","nats":{"urls":[%q]}`, server.URL), access: behindBalancer})
		b := balancers.HAProxy(t)
		y := rolling(t, c, b.Start(t, c.ports()), once, figures.Size(1, 3), 12, figures.Size(10, 100))
		figures.Report(t, "T46p", "%d restarts with a delay of 5s behind %s, 12 clients of a server that runs once: %v", figures.Size(3, 9), b.Name, y)
	})
}

// TestSecretChanged changes the secret of a cluster in the three steps of the
// documentation. After each restart, all replicas find a server that runs once and
// read what they share.
func TestSecretChanged(t *testing.T) {
	besideOthers(t)
	old, fresh := strings.Repeat("old-", 10), strings.Repeat("new-", 10)
	server := mcptest.StartNATS(t)
	c, _ := placedWith(t, "", options{secret: old, section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL)})
	now := old
	for _, next := range []string{old + " " + fresh, fresh + " " + old, fresh} {
		t.Run("cluster/secret/"+next, func(t *testing.T) {
			for _, r := range c.replicas {
				r.Signal(syscall.SIGTERM)
				r.Wait(30 * time.Second)
				write(t, r.config, strings.Replace(read(t, r.config), `"secret":"`+now+`"`, `"secret":"`+next+`"`, 1))
				r.start()
				r.ready()
				for _, one := range c.replicas {
					awaitSays(t, one, "by "+one.name)
				}
				if log := r.Stderr(); strings.Contains(log, "refused") {
					t.Errorf("%s: %s", r.name, log)
				}
			}
		})
		now = next
	}
}

// TestOwnerDies checks that if the replica of a server dies or hangs, another
// one soon takes over. With fence there are never two processes, as long as the
// first replica can act.
func TestOwnerDies(t *testing.T) {
	for name, more := range map[string]string{"plain": "", "fence": `,"fence":true`} {
		t.Run("fault/T47/"+name, func(t *testing.T) {
			t.Parallel()
			ownerDies(t, more, figures.Size(1, 20))
		})
	}
	t.Run("fault/T47/stopped", func(t *testing.T) {
		t.Parallel()
		ownerStops(t)
	})
}

// ownerDies kills the replica of the server several times.
func ownerDies(t *testing.T, more string, kills int) {
	t.Helper()
	c, log := placed(t, more)
	// A fenced process may live until its record expires.
	limit := map[bool]time.Duration{true: 12 * time.Second, false: 20 * time.Second}[more == ""]
	var worst time.Duration
	for range kills {
		has, others := c.owner(t, c.replicas...)
		for _, r := range c.replicas {
			wants(t, says(t, r, "before"), "before")
		}
		before := runs(t, log)
		began := time.Now()
		has.kill()
		awaitSays(t, others[0], "after") // the takeover of a fenced server takes longer than one call waits
		worst = max(worst, time.Since(began))
		wants(t, says(t, others[1], "after, by the other"), "by the other")
		list := runs(t, log)
		if len(list) <= len(before) || list[len(list)-1].epoch <= before[len(before)-1].epoch {
			t.Errorf("processes %v, before %v", list, before)
		}
		for _, one := range before {
			if lives(one.pid) {
				t.Errorf("process %d of the dead replica lives", one.pid)
			}
		}
		has.start()
		has.ready()
	}
	if two, err := os.ReadFile(log + ".two"); more != "" && err == nil {
		t.Errorf("processes at once: %s", two)
	}
	if worst > limit {
		t.Errorf("served again after %v", worst)
	}
	how := map[bool]string{true: "", false: " with `fence`, never two processes"}[more == ""]
	figures.Report(t, "T47", "owner killed %d times%s: served again after %v at most", kills, how, worst.Round(time.Millisecond))
}

// ownerStops pauses and resumes the replica of the server.
func ownerStops(t *testing.T) {
	t.Helper()
	c, log := placed(t, "")
	has, others := c.owner(t, c.replicas...)
	for _, r := range c.replicas {
		wants(t, says(t, r, "before"), "before")
	}
	began := time.Now()
	has.Signal(syscall.SIGSTOP)
	awaitSays(t, others[0], "meanwhile")
	took := time.Since(began)
	if took > 30*time.Second {
		t.Errorf("served again after %v", took)
	}
	has.Signal(syscall.SIGCONT)
	await(t, "one process is left", func() bool {
		alive := 0
		for _, one := range runs(t, log) {
			if lives(one.pid) {
				alive++
			}
		}
		return alive == 1
	})
	awaitSays(t, has, "again")
	figures.Report(t, "T47", "owner frozen with SIGSTOP: served again after %v, one process is left when it goes on", took.Round(time.Millisecond))
}

// trySays calls the echo of the server that runs once, with a time limit.
func trySays(t *testing.T, r *replica, text string) error {
	t.Helper()
	return tryCall(t, r, "once__echo", fmt.Sprintf(`{"message":%q}`, text), text)
}

// awaitSays repeats trySays until it succeeds.
func awaitSays(t *testing.T, r *replica, text string) {
	t.Helper()
	var err error
	await(t, "the server is called through "+r.name, func() bool { err = trySays(t, r, text); return err == nil })
	if err != nil {
		t.Errorf("the last answer: %v", err)
	}
}

// tryCall makes a modern call at a replica, and checks that the response
// contains text.
func tryCall(t *testing.T, r *replica, tool, arguments, text string) error {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.url())
	c.Header.Set("Mcp-Protocol-Version", modern)
	c.Header.Set("Mcp-Method", "tools/call")
	c.Header.Set("Mcp-Name", tool)
	c.Header.Set("Connection", "close") // otherwise each call keeps a connection until the test ends
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, arguments, modern))
	if err == nil && (len(reply.Messages) != 1 || reply.Messages[0].Error != nil || !strings.Contains(string(reply.Messages[0].Result), text)) {
		err = fmt.Errorf("%d %s", reply.Status, reply.Body)
	}
	return err
}
