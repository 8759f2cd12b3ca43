package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// An event is one of a console's event stream.
type event struct{ name, data string }

// follows opens the event stream of a replica's console with a key. The channel
// is closed when the stream ends.
func (r *replica) follows(ctx context.Context, key, topics string) chan event {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+r.port+"/api/v1/events?topics="+topics, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("events: %s", resp.Status)
	}
	events := make(chan event, 1000)
	go func() {
		defer close(events)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 16<<20)
		var e event
		for lines.Scan() {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				e.name = name
			} else if e.data, ok = strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- e
			}
		}
	}()
	return events
}

// hears waits for notices about another replica, in any order.
func hears(t *testing.T, events chan event, replica string, topics ...string) {
	t.Helper()
	late := time.After(time.Minute)
	for len(topics) > 0 {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %s of %s", topics, replica)
			}
			var n struct{ Replica, Topic string }
			if e.name == "replicas" && json.Unmarshal([]byte(e.data), &n) == nil && n.Replica == replica {
				topics = slices.DeleteFunc(topics, func(topic string) bool { return topic == n.Topic })
			}
		case <-late:
			t.Fatalf("nothing was told about %s of %s", topics, replica)
		}
	}
}

// TestEvents checks that the console of one replica is told what happens on the
// others.
func TestEvents(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`,
		alter: func(_ int, _ *replica, text string) string {
			return strings.Replace(text, `"back":{`, `"back":{"tools":{"large":{"ask":true}},`, 1)
		},
	})
	a, b := c.replicas[0], c.replicas[1]
	boss := strings.TrimSpace(a.must("key", "create", "boss", "--scope", "admin"))
	user := strings.TrimSpace(a.must("key", "create", "user"))
	gone := strings.TrimSpace(a.must("key", "create", "gone", "--scope", "admin"))
	for _, key := range []string{boss, user, gone} {
		enters(t, a, key)
		enters(t, b, key)
	}
	events := a.follows(t.Context(), boss, "servers,inbox,clients,traffic,replicas")
	hears(t, events, "b", "hello")
	t.Run("cluster/events/inbox", func(t *testing.T) {
		q, answer := asking(t, b, user, "told", a, boss)
		hears(t, events, "b", "inbox")
		if status, text := a.says(boss, "inbox/"+q.ID+"?replica=b", `{"action":"accept"}`); status != http.StatusNoContent {
			t.Fatalf("status %d: %s", status, text)
		}
		wants(t, <-answer, "told")
		hears(t, events, "b", "inbox", "traffic")
	})
	t.Run("cluster/events/clients", func(t *testing.T) {
		if m := holder(t, b, user).Initialize(legacy, `{}`); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
		hears(t, events, "b", "clients")
	})
	t.Run("cluster/events/person", func(t *testing.T) { // b asks, because a console is open at a
		s := holder(t, b, user)
		if m := s.Initialize(legacy, `{}`); m.Error != nil {
			t.Fatalf("%+v", m.Error)
		}
		answer := make(chan mcptest.Message, 1)
		go func() { answer <- s.Post(call(1, "old__ask_name", "")).Answer(t) }()
		var list []question
		nth := -1
		await(t, "the question is in the inbox", func() bool {
			a.looks(boss, "inbox?replica=*", &list)
			nth = slices.IndexFunc(list, func(q question) bool { return q.Kind == "elicitation" && q.Replica == "b" })
			return nth >= 0
		})
		if t.Failed() {
			t.Fatalf("answered %.300s", (<-answer).Raw)
		}
		if status, text := a.says(boss, "inbox/"+list[nth].ID+"?replica=b", `{"action":"accept","content":{"name":"Ada"}}`); status != http.StatusNoContent {
			t.Fatalf("status %d: %s", status, text)
		}
		wants(t, <-answer, "Hello, Ada!")
	})
	t.Run("cluster/events/revoked", func(t *testing.T) {
		others := a.follows(t.Context(), gone, "servers,inbox,clients,traffic,replicas")
		hears(t, others, "b", "hello")
		b.must("key", "revoke", "gone")
		late := time.After(30 * time.Second)
		for open := true; open; {
			select {
			case _, open = <-others:
			case <-late:
				t.Fatal("the stream of a revoked key goes on")
			}
		}
	})
	t.Run("cluster/events/lost and back", func(t *testing.T) {
		b.kill()
		hears(t, events, "b", "lost")
		b.start()
		b.ready()
		hears(t, events, "b", "hello")
	})
}
