package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// A question is a row of an inbox.
type question struct {
	ID, Kind, Server, Tool, Replica, From, Outcome, By string
	Asked                                              time.Time
}

// says sends a change to a replica's console API with a key, and returns the
// response.
func (r *replica) says(key, path, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://127.0.0.1:"+r.port+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-MCP-AIO", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// trail returns the file of the audit trail.
func (r *replica) trail() string { return filepath.Join(r.home, "audit.jsonl") }

// An audited is a line of an audit trail.
type audited struct {
	Replica, From, Method, Name, Trace, Outcome string
	Request                                     json.RawMessage
	Approval                                    struct{ By, Door string }
}

// audited returns the lines of the audit trail.
func (r *replica) audited() (list []audited) {
	r.t.Helper()
	text, err := os.ReadFile(r.trail())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e audited
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return list // not written whole yet
		}
		list = append(list, e)
	}
	return list
}

// asking starts a call at a replica that waits for approval, and returns its
// question as the console of another replica shows it.
func asking(t *testing.T, r *replica, key, token string, console *replica, reader string) (question, chan mcptest.Message) {
	t.Helper()
	answer := make(chan mcptest.Message, 1)
	s := holder(t, r, key)
	if m := s.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("%+v", m.Error)
	}
	go func() { answer <- s.Post(call(1, "back__large", token)).Answer(t) }()
	var got question
	await(t, "the question of "+r.name+" is in the console of "+console.name, func() bool {
		var list []question
		console.looks(reader, "inbox?replica=*", &list)
		i := slices.IndexFunc(list, func(q question) bool { return q.Replica == r.name && q.Tool == "large" })
		if i >= 0 {
			got = list[i]
		}
		return i >= 0
	})
	return got, answer
}

// TestInbox checks that the questions of all replicas are in one inbox, and that an
// answer reaches the replica that asks, with the rights that count there.
func TestInbox(t *testing.T) {
	server := mcptest.StartNATS(t)
	c := start(t, 2, options{
		section: fmt.Sprintf(`,"engine":"nats","nats":{"urls":[%q]}`, server.URL), access: `"access":{"enabled":true,"keys":"keys.json"},`,
		alter: func(_ int, r *replica, text string) string {
			text = strings.Replace(text, `"logging":`, fmt.Sprintf(`"audit":{"file":%q},"logging":`, r.trail()), 1)
			return strings.Replace(text, `"back":{`, `"back":{"tools":{"large":{"ask":true}},`, 1)
		},
	})
	a, b := c.replicas[0], c.replicas[1]
	keys := map[string]string{}
	for name, scopes := range map[string][]string{"boss": {"admin"}, "other": {"admin"}, "narrow": {"admin", "server:demo"}, "user": nil, "stranger": nil, "reader": {"readonly"}} {
		args := []string{"key", "create", name}
		for _, s := range scopes {
			args = append(args, "--scope", s)
		}
		keys[name] = strings.TrimSpace(a.must(args...))
		enters(t, a, keys[name])
		enters(t, b, keys[name])
	}
	const yes = `{"action":"accept"}`
	t.Run("cluster/inbox/joined", func(t *testing.T) {
		q, answer := asking(t, b, keys["user"], "joined", a, keys["boss"])
		first, early := asking(t, a, keys["user"], "own", b, keys["boss"])
		var list, own []question
		a.looks(keys["boss"], "inbox?replica=*", &list)
		if len(list) != 2 || list[0].ID != q.ID || list[0].Replica != "b" || list[1].ID != first.ID || list[1].Replica != "a" {
			t.Errorf("the inbox of all is %+v", list)
		}
		a.looks(keys["boss"], "inbox", &own)
		if len(own) != 1 || own[0].ID != first.ID {
			t.Errorf("the inbox of a is %+v", own)
		}
		var p struct{ Inbox []question }
		a.looks(keys["boss"], "overview?replica=*", &p)
		if len(p.Inbox) != 2 || p.Inbox[0].Replica != "b" {
			t.Errorf("the overview has %+v", p.Inbox)
		}
		for _, one := range []question{q, first} {
			if status, text := a.says(keys["boss"], "inbox/"+one.ID+"?replica="+one.Replica, yes); status != http.StatusNoContent {
				t.Fatalf("status %d: %s", status, text)
			}
		}
		wants(t, <-answer, "joined")
		wants(t, <-early, "own")
		var done []question
		a.looks(keys["boss"], "inbox/done?replica=*", &done)
		if len(done) != 2 || done[0].Replica != "a" || done[1].Replica != "b" || done[1].Outcome != "accept" || !strings.HasPrefix(done[1].By, "key:") {
			t.Errorf("done: %+v", done)
		}
		// An answer counts once.
		if status, _ := a.says(keys["boss"], "inbox/"+q.ID+"?replica=b", yes); status != http.StatusGone {
			t.Errorf("status %d for a second answer", status)
		}
	})
	t.Run("cluster/inbox/rights", func(t *testing.T) {
		q, answer := asking(t, b, keys["other"], "rights", a, keys["boss"])
		path := "inbox/" + q.ID + "?replica=b"
		for name, want := range map[string]int{"other": http.StatusForbidden, "narrow": http.StatusGone, "user": http.StatusGone, "stranger": http.StatusGone, "reader": http.StatusForbidden} {
			here, text := a.says(keys[name], path, yes)
			there, _ := b.says(keys[name], "inbox/"+q.ID, yes)
			if here != want || there != want {
				t.Errorf("%s: status %d by way of a and %d at b, want %d: %s", name, here, there, want, text)
			}
			if name == "other" && !strings.Contains(text, "you asked this question yourself") {
				t.Errorf("the reason of b is lost: %s", text)
			}
			var list []question
			a.looks(keys[name], "inbox?replica=*", &list)
			if sees := len(list) > 0; sees != (name == "other") {
				t.Errorf("%s sees %+v", name, list)
			}
		}
		for path, want := range map[string]int{
			"inbox/" + q.ID + "?replica=nobody":      http.StatusNotFound,
			"inbox/" + q.ID + "?replica=a":           http.StatusGone,
			"servers/default/back/disable?replica=b": http.StatusBadRequest, // changes stay where they are made
			"reload?replica=b":                       http.StatusBadRequest,
			"codes?replica=b":                        http.StatusBadRequest,
			"inbox/" + q.ID + "x?replica=b":          http.StatusGone,
			"inbox/..%2f..%2fservers?replica=b":      http.StatusGone,
		} {
			if status, text := a.says(keys["boss"], path, yes); status != want {
				t.Errorf("%s: status %d, want %d: %s", path, status, want, text)
			}
		}
		if status, text := a.says(keys["boss"], path, `{"action":"accept","more":1}`); status != http.StatusBadRequest {
			t.Errorf("status %d: %s", status, text)
		}
		if status, text := a.says(keys["boss"], path, `{"action":"decline"}`); status != http.StatusNoContent {
			t.Fatalf("status %d: %s", status, text)
		}
		if m := <-answer; !strings.Contains(string(m.Raw), "no person approved it") {
			t.Errorf("answered %.300s", m.Raw)
		}
	})
	t.Run("cluster/inbox/command", func(t *testing.T) {
		q, answer := asking(t, b, keys["user"], "typed", a, keys["boss"])
		if list := a.must("inbox"); !strings.Contains(list, q.ID+"\tapproval\tback\t") || !strings.Contains(list, "\n\treplica b\n") {
			t.Errorf("a lists %s", list)
		}
		var all struct {
			Questions []question
			Replicas  []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(a.must("inbox", "--json")), &all); err != nil || len(all.Questions) != 1 || all.Questions[0].Replica != "b" || len(all.Replicas) != 2 {
			t.Errorf("%+v, %v", all, err)
		}
		a.must("inbox", "answer", q.ID)
		wants(t, <-answer, "typed")
		await(t, "the audit trail of b says who approved the call, and how", func() bool {
			return slices.ContainsFunc(b.audited(), func(e audited) bool { return e.Approval.By == "owner" && e.Approval.Door == "cli" })
		})
	})
	t.Run("cluster/inbox/not answering", func(t *testing.T) {
		b.kill()
		if status, text := a.says(keys["boss"], "inbox/1-000000000000?replica=b", yes); status != http.StatusBadGateway || !strings.Contains(text, "replica b does not answer") {
			t.Errorf("status %d: %s", status, text)
		}
		out, why, code := a.run("inbox")
		if code != 0 || out != "" || !strings.Contains(why, "replica b does not answer") {
			t.Errorf("exit code %d, %s%s", code, out, why)
		}
		_, why, code = a.run("inbox", "answer", "1-000000000000")
		if code != 2 || !strings.Contains(why, "replica b does not answer") || !strings.Contains(why, "no question waits") {
			t.Errorf("answer: exit code %d, %s", code, why)
		}
	})
}
