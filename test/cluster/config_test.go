package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	agreed "mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest"
)

// read returns the content of a file.
func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lists waits until a replica lists a server, or no longer does.
func (r *replica) lists(name string, want bool) {
	r.t.Helper()
	await(r.t, fmt.Sprintf("replica %s has %s: %v", r.name, name, want), func() bool {
		return strings.Contains(r.must("ls", "--json"), fmt.Sprintf(`"name":%q`, name)) == want
	})
}

// of returns the state of a replica as another replica sees it.
func (r *replica) of(node string) agreed.MemberStatus {
	r.t.Helper()
	s, _ := r.status()
	for _, m := range s.Members {
		if m.Node == node {
			return m
		}
	}
	return agreed.MemberStatus{}
}

// TestSharedConfig checks that all replicas share one configuration, which can
// be changed at any of them.
func TestSharedConfig(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{
		section: fmt.Sprintf(`,"engine":"nats","config":"shared","nats":{"urls":[%q]}`, server.URL), access: withMetrics + `"access":{"enabled":true,"keys":"keys.json"},`,
	})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/config/edit", func(t *testing.T) { editedAnywhere(t, c, a, b) })
	t.Run("cluster/config/import", func(t *testing.T) { imported(t, a, b) })
	t.Run("cluster/config/first", func(t *testing.T) { readByLosers(t, a, b) })
	t.Run("cluster/config/writers", func(t *testing.T) { manyWriters(t, c, a, b) })
	t.Run("cluster/config/proposed", func(t *testing.T) { proposed(t, c, a, b) })
	t.Run("cluster/config/rejected", func(t *testing.T) { rejected(t, a, b) })
	t.Run("cluster/config/by hand", func(t *testing.T) { byHand(t, a, b) })
	t.Run("cluster/config/away", func(t *testing.T) { away(t, server, a, b) })
}

func editedAnywhere(t *testing.T, c *cluster, a, b *replica) {
	b.must("add", "more", c.back.url)
	a.lists("more", true)
	a.must("disable", "more")
	await(t, "it is off at b", func() bool { return strings.Contains(b.must("config", "show"), `"enabled": false`) })
	a.must("remove", "more")
	b.lists("more", false)
	a.sees("a ready, b ready")
	if s, _ := a.status(); !s.Shares {
		t.Error("the status does not say that the configuration is shared")
	}
	if text := read(t, b.config); !strings.Contains(text, `"node":"b"`) || strings.Contains(text, `"node":"a"`) {
		t.Errorf("b has the section of another one: %s", text)
	}
}

// imported checks that comments are shared, but not secrets and the settings of
// each replica.
func imported(t *testing.T, a, b *replica) {
	token := filepath.Join(a.home, "token")
	write(t, token, "a-secret-of-this-machine")
	file := filepath.Join(a.home, "team.json")
	text := a.must("cluster", "export")
	text = strings.Replace(text, `"mcpServers":{`, fmt.Sprintf("// what the team uses\n\"mcpServers\":{\n// the notes\n\"notes\":{\"type\":\"http\",\"url\":\"http://127.0.0.1:9/mcp\",\"headers\":{\"Authorization\":\"${file:%s}\"}},", token), 1)
	write(t, file, strings.Replace(text, "{", `{"server":{"port":1},`, 1))
	a.must("cluster", "import", file)
	b.lists("notes", true)
	got := read(t, b.config)
	for _, want := range []string{"// what the team uses", "// the notes", "${file:" + token + "}", `"node":"b"`} {
		if !strings.Contains(got, want) {
			t.Errorf("b lacks %s: %s", want, got)
		}
	}
	exported := b.must("cluster", "export")
	for _, unwanted := range []string{`"port"`, `"cluster"`, "a-secret-of-this-machine"} {
		if strings.Contains(exported+got, unwanted) && unwanted != `"cluster"` || strings.Contains(exported, unwanted) {
			t.Errorf("shared is %s: %s", unwanted, exported)
		}
	}
	if !strings.Contains(exported, "// the notes") {
		t.Errorf("exported %s", exported)
	}
}

// readByLosers checks that a replica that starts later takes the configuration
// of the others, and keeps a backup of its own file.
func readByLosers(t *testing.T, a, b *replica) {
	b.Stop()
	text := read(t, b.config)
	write(t, b.config, strings.Replace(text, `"notes"`, `"mine"`, 1))
	if err := os.RemoveAll(filepath.Join(b.home, ".local")); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.ready()
	b.lists("notes", true)
	b.lists("mine", false)
	kept, _ := filepath.Glob(b.config + ".backup.*")
	found := false
	for _, name := range kept {
		found = found || strings.Contains(read(t, name), `"mine"`)
	}
	if !found {
		t.Errorf("what b had is in none of %v", kept)
	}
	a.lists("mine", false)
}

// manyWriters checks that each of several concurrent edits takes effect, or
// reports that it does not.
func manyWriters(t *testing.T, c *cluster, a, b *replica) {
	var all sync.WaitGroup
	var mu sync.Mutex
	added := map[string]bool{}
	for i := range 6 {
		r, name := []*replica{a, b}[i%2], fmt.Sprintf("w%d", i)
		all.Go(func() {
			_, why, code := r.run("add", name, c.back.url)
			mu.Lock()
			defer mu.Unlock()
			added[name] = code == 0
			if code != 0 && !strings.Contains(why, "other replicas changed the same record") {
				t.Errorf("%s: %s", name, why)
			}
		})
	}
	all.Wait()
	text := a.must("cluster", "export")
	for name, ok := range added {
		if strings.Contains(text, `"`+name+`"`) != ok {
			t.Errorf("%s: added %v, and the text is %s", name, ok, text)
		}
	}
	a.sees("a ready, b ready")
}

// proposed checks that a server added by a client waits at all replicas, and is
// approved once.
func proposed(t *testing.T, c *cluster, a, b *replica) {
	key := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
	enters(t, b, key)
	s := holder(t, b, key)
	if m := s.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("%+v", m.Error)
	}
	wants(t, s.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp-all-in-one-add-mcp-server","arguments":{"name":"extra","url":%q,"type":"http","apply":true}}}`,
		c.back.url)).Answer(t), "success")
	await(t, "it waits at a", func() bool { return strings.Contains(a.must("approve", "--json"), `"name":"extra","new":true`) })
	shows(t, a, key, "extra__echo", false)
	a.must("approve", "extra", "--yes")
	for _, r := range []*replica{a, b} {
		shows(t, r, key, "extra__echo", true)
	}
	if list := b.must("approve", "--json"); strings.Contains(list, "extra") {
		t.Errorf("at b waits %s", list)
	}
}

// rejected checks a replica that cannot use a text that another replica can
// use.
func rejected(t *testing.T, a, b *replica) {
	key := filepath.Join(t.TempDir(), "key")
	write(t, key, "a-key-of-more-than-twenty-characters")
	file := filepath.Join(a.home, "team.json")
	text := strings.Replace(a.must("cluster", "export"), `"keys":"keys.json"`, `"keys":"keys.json","key":"${file:$HOME/key}"`, 1)
	write(t, filepath.Join(a.home, "key"), read(t, key))
	write(t, file, strings.ReplaceAll(text, "$HOME", "~"))
	boss := strings.TrimSpace(a.must("key", "create", "figures", "--scope", "admin"))
	enters(t, b, boss)
	if got := b.figure(boss, "mcp_gateway_cluster_config_rejected"); got != "0" {
		t.Errorf("%q in the metrics of b", got)
	}
	if _, why, code := a.run("cluster", "import", file); code != 0 || !strings.Contains(why, "b cannot use it") {
		t.Errorf("exit code %d: %s", code, why)
	}
	await(t, "a sees that b rejected it", func() bool { return a.of("b").Rejected != "" })
	if m := a.of("b"); !strings.Contains(m.Rejected, "cannot use the shared configuration") || !strings.Contains(m.RejectedZH, "无法使用共享的配置") {
		t.Errorf("%+v", m)
	}
	if out := a.must("cluster", "status"); !strings.Contains(out, "rejected") || !strings.Contains(out, "key") {
		t.Error(out)
	}
	if got := b.figure(boss, "mcp_gateway_cluster_config_rejected"); got != "1" {
		t.Errorf("%q in the metrics of b", got)
	}
	b.lists("notes", true)
	if out, _, _ := b.run("doctor"); !strings.Contains(out, "reload it there") {
		t.Error(out)
	}
	if _, why, code := b.run("reload"); code == 0 || !strings.Contains(why, "cannot use the shared configuration") {
		t.Errorf("exit code %d: %s", code, why)
	}
	write(t, filepath.Join(b.home, "key"), read(t, key))
	b.must("reload")
	await(t, "a sees that b uses it", func() bool { return a.of("b").Rejected == "" })
	enters(t, b, read(t, key))
}

// byHand checks that a manual change of the file is reverted and kept as a
// backup.
func byHand(t *testing.T, a, b *replica) {
	write(t, b.config, strings.Replace(read(t, b.config), `"notes"`, `"scribbled"`, 1))
	_, why, code := b.run("reload")
	if code == 0 || !strings.Contains(why, "cluster import") {
		t.Fatalf("exit code %d: %s", code, why)
	}
	if text := read(t, b.config); strings.Contains(text, "scribbled") {
		t.Error(text)
	}
	b.must("reload")
	kept, _ := filepath.Glob(b.config + ".backup.*")
	b.must("cluster", "import", kept[len(kept)-1])
	a.lists("scribbled", true)
	a.lists("notes", false)
}

// away checks that replicas keep using their text while the engine is down,
// even if they start then.
func away(t *testing.T, server *mcptest.NATS, a, b *replica) {
	server.Down()
	await(t, "a says that the engine is away", func() bool { s, _ := a.status(); return s.Engine.State == agreed.EngineAway })
	for _, args := range [][]string{{"remove", "scribbled"}, {"cluster", "export"}} {
		if _, why, code := a.run(args...); code == 0 || !strings.Contains(why, "no_agreement") {
			t.Errorf("%v: exit code %d: %s", args, code, why)
		}
	}
	b.Stop()
	b.start()
	b.lists("scribbled", true)
	b.must("reload")
	text := read(t, b.config)
	write(t, b.config, strings.Replace(text, `"scribbled"`, `"lost"`, 1))
	if _, why, code := b.run("reload"); code == 0 || !strings.Contains(why, "by hand") {
		t.Errorf("exit code %d: %s", code, why)
	}
	write(t, b.config, text)
	server.Restart()
	await(t, "a says that the engine is back", func() bool { s, _ := a.status(); return s.Engine.State == agreed.EngineReached })
	a.must("remove", "scribbled")
	b.lists("scribbled", false)
}

// TestFirstKeyOfAll checks that the first key counts at all replicas with a
// shared configuration, whose text names no path of one machine.
func TestFirstKeyOfAll(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{section: fmt.Sprintf(`,"engine":"nats","config":"shared","nats":{"urls":[%q]}`, server.URL)})
	a, b := c.replicas[0], c.replicas[1]
	t.Run("cluster/config/first key", func(t *testing.T) {
		a.sees("a ready, b ready")
		key := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
		if text := a.must("cluster", "export"); strings.Contains(text, a.home) || !strings.Contains(text, `"keys.json"`) {
			t.Fatalf("the shared text is %s", text)
		}
		await(t, "b has the text", func() bool { return strings.Contains(read(t, b.config), `"keys.json"`) })
		enters(t, a, key)
		enters(t, b, key)
	})
}
