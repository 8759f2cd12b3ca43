package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest"
)

// run runs a command of the product next to a replica.
func (r *replica) run(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	return r.runIn("en", args...)
}

// runIn runs a command in a language.
func (r *replica) runIn(lang string, args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), mcptest.BuildProduct(r.t), append(args, "--mcp-config", r.config)...)
	cmd.Env = append(os.Environ(), "HOME="+r.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG="+lang)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil && cmd.ProcessState == nil {
		r.t.Fatal(e)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// status returns the cluster as a replica sees it.
func (r *replica) status() (s agreed.Status, code int) {
	r.t.Helper()
	out, why, code := r.run("cluster", "status", "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		r.t.Fatalf("%v: %s %s", err, out, why)
	}
	return s, code
}

// sees waits until a replica sees these members.
func (r *replica) sees(want string) {
	r.t.Helper()
	got := ""
	await(r.t, "replica "+r.name+" sees "+want, func() bool {
		s, _ := r.status()
		var list []string
		for _, m := range s.Members {
			word := string(m.State)
			if !m.Reachable {
				word = "unreachable"
			}
			if m.Differs {
				word += " differs"
			}
			list = append(list, m.Node+" "+word)
		}
		got = strings.Join(list, ", ")
		return got == want
	})
	if r.t.Failed() {
		r.t.Fatalf("it sees %s", got)
	}
}

// metric returns a line of /metrics of a replica.
func (r *replica) metric(name string) string {
	r.t.Helper()
	return r.figure("", name)
}

// figure returns a line of /metrics, with a key.
func (r *replica) figure(key, name string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://127.0.0.1:"+r.port+"/metrics", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

const withMetrics = `"metrics":{"enabled":true},`

// TestEngine checks that replicas find each other through NATS without listed
// members, and that calls succeed while NATS is down.
func TestEngine(t *testing.T) {
	besideOthers(t)
	server := mcptest.StartNATS(t)
	c := start(t, 3, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]},"labels":{"gpu":"yes"}`, server.URL), access: withMetrics})
	a, b, third := c.replicas[0], c.replicas[1], c.replicas[2]
	t.Run("cluster/engine/found", func(t *testing.T) {
		a.sees("a ready, b ready, c ready")
		s, code := a.status()
		if code != 0 || s.Engine.State != agreed.EngineReached || s.Engine.Name != "nats" || s.Members[1].Labels["gpu"] != "yes" || s.Members[1].Version == "" {
			t.Errorf("exit code %d, %+v", code, s)
		}
		if got := a.metric(`mcp_gateway_cluster_members{state="ready",config="same"}`); got != "3" {
			t.Errorf("%q members in the metrics", got)
		}
	})
	t.Run("cluster/engine/restore", func(t *testing.T) {
		s := client(t, a, `{}`)
		wants(t, at(s, b).Post(call(1, "back__echo", "before")).Answer(t), "before")
		if b.metric(`mcp_gateway_cluster_forwards_total{to="a"}`) != "1" || b.metric("mcp_gateway_cluster_forward_seconds_count") != "1" {
			t.Error("the forwarded request is not counted")
		}
		a.kill()
		for i, r := range []*replica{b, third, b} {
			wants(t, at(s, r).Post(call(i, "back__echo", fmt.Sprint("after ", i))).Answer(t), fmt.Sprint("after ", i))
		}
		if n := b.restored() + third.restored(); n != 1 { // they ask each other, although no members are listed
			t.Errorf("the session was restored %d times", n)
		}
		if b.metric("mcp_gateway_cluster_restored_total")+third.metric("mcp_gateway_cluster_restored_total") == "00" {
			t.Error("the restored session is not counted")
		}
	})
	t.Run("cluster/engine/dead", func(t *testing.T) {
		b.sees("b ready, c ready") // after its record has expired
	})
	t.Run("cluster/engine/away", func(t *testing.T) {
		s := client(t, b, `{}`)
		server.Down()
		began := time.Now()
		await(t, "b says that the engine is away", func() bool { s, _ := b.status(); return s.Engine.State == agreed.EngineAway })
		for i, r := range []*replica{third, b} {
			wants(t, at(s, r).Post(call(i, "back__echo", fmt.Sprint("away ", i))).Answer(t), fmt.Sprint("away ", i))
		}
		seen, code := b.status()
		if code != 4 || seen.Engine.Since.After(began.Add(time.Second)) || seen.Engine.Error == "" || len(seen.Members) != 2 {
			t.Errorf("exit code %d, %+v", code, seen)
		}
		if n := strings.Count(b.Stderr(), "cluster engine unreachable"); n != 1 {
			t.Errorf("%d warnings", n)
		}
		if b.metric("mcp_gateway_cluster_agreement_seconds") == "0" {
			t.Error("the metrics do not say that the engine is away")
		}
		await(t, "c says that the engine is away", func() bool { s, _ := third.status(); return s.Engine.State == agreed.EngineAway })
		for _, r := range []*replica{b, third} { // nobody could take its servers
			if _, why, code := b.run("cluster", "drain", r.name); code == 0 || !strings.Contains(why, "servers cannot be moved") {
				t.Errorf("drain %s: exit code %d: %s", r.name, code, why)
			}
			r.ready()
		}
		server.Restart()
		await(t, "b says that the engine is back", func() bool { s, _ := b.status(); return s.Engine.State == agreed.EngineReached })
		b.sees("b ready, c ready")
	})
	t.Run("cluster/engine/leaves", func(t *testing.T) {
		third.Signal(syscall.SIGTERM)
		third.Wait(30 * time.Second)
		b.sees("b ready")
	})
}

// TestEngineAbsent checks that a gateway with engine nats starts and answers
// without NATS. It is ready before it gives up to wait for a server that nobody can
// place.
func TestEngineAbsent(t *testing.T) {
	besideOthers(t)
	url := "nats://127.0.0.1:" + mcptest.FreePort(t)
	c := start(t, 1, options{section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, url), servers: fmt.Sprintf(`,"once":{"command":%q}`, mcptest.Build(t))})
	t.Run("cluster/engine/absent, ready", func(t *testing.T) {
		out, why, code := c.replicas[0].run("doctor")
		if code != 4 || !strings.Contains(out, "once  it has not answered for") || !strings.Contains(out, "no replica has it: look at") || !strings.Contains(out, "connection refused by "+url) {
			t.Errorf("exit code %d: %s\n%s", code, why, out)
		}
	})
	t.Run("cluster/engine/absent", func(t *testing.T) {
		wants(t, client(t, c.replicas[0], `{}`).Post(call(1, "back__echo", "alone")).Answer(t), "alone")
		await(t, "the replica says that the engine is away", func() bool {
			s, code := c.replicas[0].status()
			return code == 4 && s.Engine.State == agreed.EngineAway && s.Engine.Error != ""
		})
	})
}

// TestStatusWithoutEngine checks that without an engine the members of the file
// are asked.
func TestStatusWithoutEngine(t *testing.T) {
	c := start(t, 3, options{members: true})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/status/members", func(t *testing.T) {
		a.sees("a ready, b ready, c ready")
		if s, code := a.status(); code != 0 || s.Engine.State != agreed.EngineNone {
			t.Errorf("exit code %d, %+v", code, s)
		}
	})
	t.Run("cluster/status/config differs", func(t *testing.T) {
		text, err := os.ReadFile(b.config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(b.config, []byte(strings.Replace(string(text), `"old":{`, `"older":{`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, why, code := b.run("reload"); code != 0 {
			t.Fatal(why)
		}
		a.sees("a ready, b ready differs, c ready")
		out, why, code := a.run("cluster", "status")
		if code != 0 || !strings.Contains(why, "the configuration of b differs from that of a") || !strings.Contains(out, "engine none") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
		if out, why, code := a.run("doctor"); code != 4 || !strings.Contains(out, "its configuration differs from this replica's") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
		out, why, _ = a.runIn("zh", "cluster", "status")
		if !strings.Contains(why, "b 的配置与 a 不同") || !strings.Contains(out, "引擎 none") {
			t.Errorf("%s\n%s", out, why)
		}
	})
	t.Run("cluster/status/dead", func(t *testing.T) {
		b.kill()
		out, why, code := a.run("cluster", "members")
		if code != 0 || !strings.Contains(out, "unreachable") || !strings.Contains(out, b.peer) || !strings.Contains(out, "refused") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
		if _, code := a.status(); code != 4 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("cluster/doctor", func(t *testing.T) {
		out, why, code := a.run("doctor")
		if code != 4 || !strings.Contains(out, b.peer) || !strings.Contains(out, "open the port of cluster.peer") || !strings.Contains(out, "replica c") {
			t.Errorf("exit code %d\n%s\n%s", code, out, why)
		}
	})
}
