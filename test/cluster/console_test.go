package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// looks requests a path of a replica's console API with a key.
func (r *replica) looks(key, path string, into any) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://127.0.0.1:"+r.port+"/api/v1/"+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(body, into); err != nil {
			r.t.Fatalf("%v: %.300s", err, body)
		}
	}
	return resp.StatusCode
}

// A shown is a row of a console.
type shown struct {
	ID      uint64
	Replica string
	Name    string
	Tool    string
	Start   time.Time
}

type page struct {
	Servers, Clients, Calls []shown
	Replicas                []struct{ Name, Error string }
	More                    bool
	Before                  map[string]uint64
}

// of returns the names of a replica's rows.
func of(list []shown, replica string) (names []string) {
	for _, s := range list {
		if s.Replica == replica {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// TestConsole checks that one console shows all replicas, to each key only what
// it may see.
func TestConsole(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`,
	})
	a, b := c.replicas[0], c.replicas[1]
	boss := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
	one := strings.TrimSpace(a.must("key", "create", "one", "--scope", "server:back"))
	for i, r := range []*replica{a, b} {
		for _, key := range []string{boss, one} {
			enters(t, r, key)
			s := holder(t, r, key)
			if m := s.Initialize(legacy, `{}`); m.Error != nil {
				t.Fatalf("%+v", m.Error)
			}
			wants(t, s.Post(call(i, "back__echo", "from "+r.name)).Answer(t), "from "+r.name)
		}
	}
	t.Run("cluster/console/joined", func(t *testing.T) {
		var p page
		if status := a.looks(boss, "overview?replica=*", &p); status != http.StatusOK || len(p.Replicas) != 2 || p.Replicas[0].Error+p.Replicas[1].Error != "" {
			t.Fatalf("status %d, %+v", status, p.Replicas)
		}
		for _, name := range []string{"a", "b"} {
			if got := of(p.Servers, name); !slices.Equal(got, []string{"back", "demo", "old"}) || len(of(p.Clients, name)) < 2 {
				t.Errorf("%s: servers %v, clients %v", name, got, of(p.Clients, name))
			}
		}
	})
	t.Run("cluster/console/traffic", func(t *testing.T) {
		var p page
		a.looks(boss, "traffic?replica=*&limit=3&q="+url.QueryEscape("echo"), &p)
		seen := map[string]bool{}
		pages := 0
		for ; pages < 20; pages++ {
			for i, row := range p.Calls {
				key := fmt.Sprint(row.Replica, " ", row.ID)
				if seen[key] || i > 0 && row.Start.After(p.Calls[i-1].Start) {
					t.Fatalf("%s came again, or before an older one: %+v", key, p.Calls)
				}
				seen[key] = true
			}
			if !p.More {
				break
			}
			before := fmt.Sprintf("a:%d,b:%d", p.Before["a"], p.Before["b"])
			p = page{}
			a.looks(boss, "traffic?replica=*&limit=3&q="+url.QueryEscape("echo")+"&before="+before, &p)
		}
		count := map[byte]int{}
		for key := range seen {
			count[key[0]]++
		}
		if count['a'] == 0 || count['a'] != count['b'] || pages == 0 {
			t.Errorf("%d pages with %v", pages, seen)
		}
	})
	t.Run("cluster/console/one replica", func(t *testing.T) {
		var p page
		a.looks(boss, "traffic?replica=b", &p)
		if len(p.Calls) == 0 {
			t.Fatal("no calls of b")
		}
		var entry struct{ Call shown }
		id := fmt.Sprint(p.Calls[0].ID)
		if status := a.looks(boss, "traffic/"+id+"?replica=b", &entry); status != http.StatusOK || entry.Call.ID != p.Calls[0].ID {
			t.Errorf("status %d, %+v", status, entry)
		}
		if status := a.looks(boss, "traffic?replica=nobody", &p); status != http.StatusNotFound {
			t.Errorf("status %d", status)
		}
	})
	t.Run("cluster/console/encoded name", func(t *testing.T) {
		var own, other any
		if status := b.looks(boss, "servers/default/%62ack", &own); status != http.StatusOK {
			t.Fatalf("status %d at the replica itself", status)
		}
		if status := a.looks(boss, "servers/default/%62ack?replica=b", &other); status != http.StatusOK {
			t.Errorf("status %d by way of another", status)
		}
	})
	t.Run("cluster/console/export", func(t *testing.T) {
		get := func(r *replica, path string) (string, http.Header) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+r.port+"/api/v1/"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+boss)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body), resp.Header
		}
		path := "traffic/export?q=" + "echo"
		want, as := get(b, path)
		got, header := get(a, path+"&replica=b")
		if got != want || strings.Count(want, "\n") < 2 {
			t.Errorf("%d lines, of %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		for _, name := range []string{"Content-Type", "Content-Disposition"} {
			if header.Get(name) != as.Get(name) {
				t.Errorf("%s: %q, want %q", name, header.Get(name), as.Get(name))
			}
		}
	})
	t.Run("cluster/console/large export", func(t *testing.T) {
		s, size := holder(t, b, boss), 0
		if m := s.Initialize(legacy, `{}`); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
		b.follows(t.Context(), boss, "traffic") // whole messages are kept while somebody looks
		for i := 0; size <= 16<<20; i++ {
			if i == 1000 {
				t.Fatalf("the record has only %d bytes", size)
			}
			wants(t, s.Post(call(i, "back__echo", strings.Repeat("x", 30_000))).Answer(t), "x")
			if i%100 == 99 {
				_, text := b.browses("", http.MethodGet, "traffic/export", "", "Authorization", "Bearer "+boss)
				size = len(text)
			}
		}
		resp, text := a.browses("", http.MethodGet, "traffic/export?replica=b", "", "Authorization", "Bearer "+boss)
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(text, "larger than 16 MB") {
			t.Errorf("status %d, %d bytes", resp.StatusCode, len(text))
		}
	})
	t.Run("cluster/console/rights", func(t *testing.T) {
		var all, mine page
		a.looks(boss, "traffic?replica=*", &all)
		a.looks(one, "overview?replica=*", &mine)
		for _, name := range []string{"a", "b"} {
			if got := of(mine.Servers, name); !slices.Equal(got, []string{"back"}) {
				t.Errorf("of %s it sees %v", name, got)
			}
		}
		for _, path := range []string{"overview", "overview?replica=*", "overview?replica=b"} {
			var body map[string]any
			if status := a.looks(one, path, &body); status != http.StatusOK || body["servers"] == nil || body["config"] != nil {
				t.Errorf("status %d, %s has the digest %v", status, path, body["config"])
			}
		}
		var calls page
		a.looks(one, "traffic?replica=*", &calls)
		if n := len(of(calls.Calls, "b")); n == 0 || n >= len(of(all.Calls, "b")) {
			t.Errorf("of b it sees %d calls, the boss %d", n, len(of(all.Calls, "b")))
		}
		for _, row := range all.Calls { // entries of other keys are not found, on any replica
			if !slices.ContainsFunc(calls.Calls, func(own shown) bool { return own.ID == row.ID && own.Replica == row.Replica }) && row.Replica == "b" {
				if status := a.looks(one, fmt.Sprintf("traffic/%d?replica=b", row.ID), new(page)); status != http.StatusNotFound {
					t.Errorf("status %d", status)
				}
			}
		}
		if status := a.looks(one, "settings?replica=b", new(any)); status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
	})
	t.Run("cluster/console/not answering", func(t *testing.T) {
		b.kill()
		began := time.Now()
		var p page
		a.looks(boss, "overview?replica=*", &p)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if len(p.Replicas) != 2 || p.Replicas[1].Name != "b" || p.Replicas[1].Error == "" || len(of(p.Servers, "a")) != 3 || len(of(p.Servers, "b")) != 0 {
			t.Errorf("%+v", p)
		}
	})
}
