package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestConsoleActsForPrincipals requests data and actions of other principals
// from the console.
func TestConsoleActsForPrincipals(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	t.Run("door/1 a bench has the rights of its caller", func(t *testing.T) { g.rightsOfTheCaller(t) })
	t.Run("door/1 nobody answers what they asked", func(t *testing.T) { g.answers(t) })
	t.Run("door/1 nobody approves a server that they added", func(t *testing.T) { g.approvals(t) })
	t.Run("door/1 an elicitation is answered by the one it was put to", func(t *testing.T) { g.elicitations(t) })
	t.Run("door/7 a bench belongs to its principal", func(t *testing.T) { g.benches(t) })
	t.Run("door/7 decisions hold on the bench", func(t *testing.T) { g.decisions(t) })
	t.Run("door/7 decisions hold in test files", func(t *testing.T) { g.suites(t) })
	t.Run("door/7 each sees its own traffic", func(t *testing.T) { g.ownTraffic(t) })
	t.Run("door/7 direct calls are in the audit trail", func(t *testing.T) { g.audited(t) })
	t.Run("door/9 pages are filtered", func(t *testing.T) { g.pages(t) })
	t.Run("door/9 the API is filtered", func(t *testing.T) { g.filtered(t) })
	t.Run("door/1 logins keep their principal", func(t *testing.T) { g.logins(t) })
}

func (g *guarded) rightsOfTheCaller(t *testing.T) {
	marker := filepath.Join(g.dir, "ran")
	bench, _ := g.open(t, "ann", `{"via":"gateway"}`)
	if list := g.want(t, 200, "ann", "GET", "bench/"+bench+"/list/tools", ""); strings.Contains(list, "add-mcp-server") || !strings.Contains(list, "two__add") {
		t.Errorf("tools of a plain key: %.500s", list)
	}
	args := fmt.Sprintf(`{"name":"evil","command":"touch","args":[%q]}`, marker)
	must.Contain(t, g.result("ann", g.begin(t, "ann", bench, "mcp-all-in-one-add-mcp-server", args)), "not found")
	bench, _ = g.open(t, "bound", `{"via":"gateway"}`)
	if list := g.want(t, 200, "bound", "GET", "bench/"+bench+"/list/tools", ""); strings.Contains(list, "one__") || !strings.Contains(list, "two__add") {
		t.Errorf("tools of a bound key: %.500s", list)
	}
	g.want(t, 403, "reader", "POST", "bench", `{"target":{"via":"gateway"}}`)
	if _, err := os.Stat(marker); err == nil {
		t.Error("a command ran")
	}
}

func (g *guarded) answers(t *testing.T) {
	for _, who := range []string{"ann", "boss"} {
		bench, _ := g.open(t, who, `{"server":"one","via":"gateway"}`)
		run := g.begin(t, who, bench, "echo", `{"message":"asked"}`)
		q := g.question(who)
		must.Contain(t, g.want(t, 403, who, "POST", "inbox/"+q, `{"action":"accept"}`), "asked")
		g.want(t, 410, "ben", "POST", "inbox/"+q, `{"action":"accept"}`)
		if body := g.want(t, 200, "ben", "GET", "inbox", ""); strings.TrimSpace(body) != "[]" {
			t.Errorf("another key sees %s", body)
		}
		if run := g.want(t, 200, who, "GET", "runs/"+run, ""); !strings.Contains(run, `"status":"running"`) {
			t.Errorf("the question is closed: %s", run)
		}
		g.want(t, 204, "chief", "POST", "inbox/"+q, `{"action":"accept"}`)
		if got := g.result(who, run); !strings.Contains(got, `"status":"ok"`) {
			t.Errorf("after a yes: %s", got)
		}
	}
	owner := g.owner()
	bench, _ := g.open(t, "boss", `{"server":"one","via":"gateway"}`)
	run := g.begin(t, "boss", bench, "echo", `{"message":"asked"}`)
	if status, body := owner("POST", "inbox/"+g.question("boss"), `{"action":"accept"}`); status != 204 {
		t.Errorf("the owner's yes: %d %s", status, body)
	}
	if got := g.result("boss", run); !strings.Contains(got, `"status":"ok"`) {
		t.Errorf("after the owner's yes: %s", got)
	}
}

func (g *guarded) approvals(t *testing.T) {
	marker := filepath.Join(g.dir, "approved")
	bench, _ := g.open(t, "boss", `{"via":"gateway"}`)
	args := fmt.Sprintf(`{"name":"later","command":"touch","args":[%q]}`, marker)
	got := g.result("boss", g.begin(t, "boss", bench, "mcp-all-in-one-add-mcp-server", args))
	if !strings.Contains(got, "later") || !strings.Contains(got, `"status":"ok"`) {
		t.Errorf("adding a server: %s", got)
	}
	if body := g.want(t, 200, "boss", "GET", "inbox", ""); strings.TrimSpace(body) != "[]" {
		t.Errorf("inbox of who asked: %s", body)
	}
	must.Contain(t, g.want(t, 200, "boss", "GET", "servers/default/later", ""), `"state":"pending"`)
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command ran")
	}
}

func (g *guarded) elicitations(t *testing.T) {
	bench, _ := g.open(t, "ann", `{"server":"two","via":"gateway"}`)
	run := g.begin(t, "ann", bench, "ask_name", `{}`)
	q := g.question("ann")
	for _, other := range []string{"ben", "boss"} {
		g.want(t, 410, other, "POST", "inbox/"+q, `{"action":"accept","content":{"name":"Eve"}}`)
	}
	g.want(t, 204, "ann", "POST", "inbox/"+q, `{"action":"accept","content":{"name":"Ann"}}`)
	must.Contain(t, g.result("ann", run), "Hello, Ann!")
}

func (g *guarded) benches(t *testing.T) {
	bench, _ := g.open(t, "ann", `{"server":"two"}`)
	if other, _ := g.open(t, "ben", `{"server":"two"}`); other == bench {
		t.Error("two keys share a session")
	}
	if again, _ := g.open(t, "ann", `{"server":"two"}`); again != bench {
		t.Error("two tabs of one key do not share a session")
	}
	run := g.begin(t, "ann", bench, "echo", `{"message":"ann-only"}`)
	g.result("ann", run)
	for _, other := range []string{"ben", "boss"} {
		for _, path := range []string{"bench/" + bench, "bench/" + bench + "/list/tools", "runs/" + run, "runs/" + run + "/body"} {
			g.want(t, 404, other, "GET", path, "")
		}
		for _, path := range []string{"bench", "runs", "runs?export"} {
			if body := g.want(t, 200, other, "GET", path, ""); strings.Contains(body, bench) || strings.Contains(body, run) || strings.Contains(body, "ann-only") {
				t.Errorf("%s reads %s: %s", other, path, body)
			}
		}
		g.want(t, 404, other, "DELETE", "bench/"+bench, "")
		g.want(t, 404, other, "PUT", "bench/"+bench+"/roots", `{"roots":[]}`)
		g.want(t, 404, other, "POST", "bench/"+bench+"/calls", `{"method":"ping"}`)
		g.want(t, 404, other, "DELETE", "bench/"+bench+"/calls/"+run, "")
		g.want(t, 204, other, "DELETE", "runs", "")
	}
	g.want(t, 200, "ann", "GET", "runs/"+run, "")
	theirs, _ := g.open(t, "ben", `{"server":"two"}`)
	g.follow(t, "ben", "bench", func(line string) bool {
		if line == "event: hello" {
			g.result("ann", g.begin(t, "ann", bench, "echo", `{"message":"ann-only"}`))
			g.result("ben", g.begin(t, "ben", theirs, "echo", `{"message":"ben-too"}`))
		}
		if strings.Contains(line, "ann-only") || strings.Contains(line, bench) {
			t.Errorf("another key hears %s", line)
		}
		return strings.Contains(line, "ben-too")
	})
	for n := 0; ; n++ {
		status, _ := g.api("ben", "POST", "bench", `{"target":{"server":"two"},"fresh":true}`)
		if status != 200 {
			break
		}
		if n > 40 {
			t.Fatal("one key may open as many sessions as it likes")
		}
	}
	g.open(t, "ann", `{"server":"two"}`)
}

func (g *guarded) decisions(t *testing.T) {
	bench, answer := g.open(t, "ann", `{"server":"one"}`)
	if !strings.Contains(answer, `"via":"gateway"`) {
		t.Errorf("a plain key was let past the gateway: %s", answer)
	}
	if got := g.result("ann", g.begin(t, "ann", bench, "add", `{"a":1,"b":2}`)); !strings.Contains(got, `"status":"error"`) {
		t.Errorf("a denied tool: %s", got)
	}
	for _, target := range []string{
		`{"server":"one","via":"direct"}`, `{"command":"touch","args":["x"]}`, `{"url":"http://127.0.0.1:9/mcp"}`,
	} {
		if body := g.want(t, 403, "ann", "POST", "bench", `{"target":`+target+`}`); !strings.Contains(body, "gateway") {
			t.Errorf("%s: %s", target, body)
		}
	}
	g.want(t, 403, "ann", "POST", "bench", `{"target":{"via":"gateway","as":"1"}}`)
	g.want(t, 502, "bound", "POST", "bench", `{"target":{"server":"one"}}`)
}

func (g *guarded) suites(t *testing.T) {
	g.write("mcp-tests/denied.yaml", "target: one\ntests:\n  - name: denied\n    call: add\n    args: {a: 1, b: 2}\n")
	g.write("mcp-tests/command.yaml", "command: [touch, x]\ntests:\n  - name: x\n    call: add\n")
	g.write("mcp-tests/address.yaml", "url: http://127.0.0.1:9/mcp\ntests:\n  - name: x\n    call: add\n")
	for _, who := range []string{"ann", "boss"} {
		g.want(t, 202, who, "POST", "suites/denied/run", `{}`)
		var got string
		g.await("the tests of "+who, func() bool {
			_, got = g.api(who, "GET", "suites/denied", "")
			return strings.Contains(got, `"failed":`) && !strings.Contains(got, `"isRunning":true`)
		})
		if !strings.Contains(got, `"failed":1`) || strings.Contains(got, `"passed":1`) {
			t.Errorf("a denied tool in a test of %s: %s", who, got)
		}
	}
	if body := g.want(t, 200, "ben", "GET", "suites/denied", ""); strings.Contains(body, `"failed":`) {
		t.Errorf("runs of others: %s", body)
	}
	for _, name := range []string{"command", "address"} {
		g.want(t, 403, "ann", "POST", "suites/"+name+"/run", `{}`)
	}
	g.want(t, 404, "bound", "GET", "suites/denied", "")
}

func (g *guarded) ownTraffic(t *testing.T) {
	g.call("ann", "two__echo", `{"message":"secret-of-ann"}`)
	var page struct {
		Calls []struct {
			ID        uint64
			Principal string
			Name      string
		}
	}
	entries := func(key string) string {
		body := g.want(t, 200, key, "GET", "traffic?q=text:secret-of-ann", "")
		page.Calls = nil
		must.Parse(t, body, &page)
		return body
	}
	if entries("ben"); len(page.Calls) > 0 {
		t.Errorf("another key's traffic: %+v", page)
	}
	if entries("boss"); len(page.Calls) < 2 {
		t.Errorf("an admin's view: %+v", page)
	}
	if entries("ann"); len(page.Calls) < 2 {
		t.Fatalf("its own traffic: %+v", page)
	}
	path := fmt.Sprintf("traffic/%d", page.Calls[0].ID)
	for _, p := range []string{path, path + "/body", path + "/body?side=res", path + "/body?path=/arguments"} {
		g.want(t, 200, "ann", "GET", p, "")
		g.want(t, 404, "ben", "GET", p, "")
	}
	for _, p := range []string{"traffic", "traffic/export", "overview", "clients", "usage", "usage?by=key"} {
		if body := g.want(t, 200, "ben", "GET", p, ""); strings.Contains(body, "secret-of-ann") || strings.Contains(body, page.Calls[0].Principal) {
			t.Errorf("%s: %.1000s", p, body)
		}
	}
	for key, all := range map[string]bool{"ann": false, "ben": false, "boss": true} {
		if body := g.want(t, 200, key, "GET", "usage?by=key", ""); strings.Contains(body, `"name":"ann"`) || strings.Contains(body, `"unused"`) != all ||
			strings.Contains(body, page.Calls[0].Principal) != (all || key == "ann") || all && !strings.Contains(body, `:"ann"`) {
			t.Errorf("usage for %s: %.1000s", key, body)
		}
	}
	if body := g.want(t, 200, "ben", "POST", "suites/draft", `{"q":"text:secret-of-ann"}`); strings.Contains(body, "secret-of-ann") {
		t.Errorf("a draft: %s", body)
	}
	if body := g.want(t, 200, "ann", "GET", "traffic/export?q=text:secret-of-ann", ""); !strings.Contains(body, "secret-of-ann") {
		t.Errorf("its own export: %s", body)
	}
	g.follow(t, "ben", "traffic,logs,clients,inbox,servers", func(line string) bool {
		if line == "event: hello" {
			g.call("ann", "two__echo", `{"message":"secret-of-ann"}`)
			g.call("ben", "two__add", `{"a":1,"b":2}`)
		}
		if strings.Contains(line, "two__echo") || strings.Contains(line, page.Calls[0].Principal) {
			t.Errorf("another key hears %.500s", line)
		}
		return strings.Contains(line, "two__add")
	})
}

func (g *guarded) audited(t *testing.T) {
	bench, answer := g.open(t, "boss", `{"server":"two","via":"direct"}`)
	if strings.Contains(answer, `"via":"gateway"`) {
		t.Errorf("an admin's direct session: %s", answer)
	}
	g.result("boss", g.begin(t, "boss", bench, "echo", `{"message":"straight-on"}`))
	body := g.want(t, 200, "boss", "GET", "traffic?q=text:straight-on", "")
	must.Contain(t, body, `"bench":true`, `"door":"console"`, `"principal":"key:`, `"server":"two"`, `"name":"echo"`)
	var line string
	g.await("the audit trail", func() bool {
		data, _ := os.ReadFile(filepath.Join(g.dir, "audit.jsonl"))
		for l := range strings.SplitSeq(string(data), "\n") {
			if strings.Contains(l, `"door":"console"`) && strings.Contains(l, `"server":"two"`) && strings.Contains(l, `"name":"echo"`) && strings.Contains(l, `"method":"tools/call"`) {
				line = l
			}
		}
		return line != ""
	})
	if !strings.Contains(line, `"principal":"key:`) {
		t.Errorf("the audit trail: %s", line)
	}
}

// Without keys the owner decides for clients, and no client decides for the
// owner.
func TestOwnerDecidesForOthers(t *testing.T) {
	t.Parallel()
	g := unguarded(t)
	trail := filepath.Join(g.dir, "audit.jsonl")
	g.write("mcp.json", fmt.Sprintf(`{"audit":{"file":%q},"mcpServers":{"one":{"command":%q,"args":["demo"],"tools":{"echo":{"ask":true}}}}}`, trail, g.binary))
	g.start()
	owner := g.owner()
	t.Run("door/1 the owner's own call is refused at once", func(t *testing.T) {
		_, opened := owner("POST", "bench", `{"target":{"server":"one","via":"gateway"}}`)
		var b, run struct{ ID string }
		must.Parse(t, opened, &b)
		_, began := owner("POST", "bench/"+b.ID+"/calls", `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}`)
		must.Parse(t, began, &run)
		var got string
		g.await("the refusal", func() bool {
			_, got = owner("GET", "runs/"+run.ID, "")
			return !strings.Contains(got, `"status":"running"`)
		})
		if !strings.Contains(got, "policy_denied") {
			t.Errorf("the call: %s", got)
		}
	})
	for door, accept := range map[string]func(id string){
		"console": func(id string) {
			if status, body := owner("POST", "inbox/"+id, `{"action":"accept"}`); status != 204 {
				t.Errorf("the yes: %d %s", status, body)
			}
		},
		"cli": func(id string) { g.command("inbox", "answer", id) },
	} {
		t.Run("door/1 a client's call waits for the owner, "+door, func(t *testing.T) {
			answer := make(chan string, 1)
			go func() { answer <- g.call("", "one__echo", `{"message":"please"}`) }()
			var list []struct{ ID, From string }
			g.await("the question", func() bool {
				_, body := owner("GET", "inbox", "")
				return json.Unmarshal([]byte(body), &list) == nil && len(list) == 1
			})
			if list[0].From != "anonymous" {
				t.Errorf("the question: %+v", list)
			}
			accept(list[0].ID)
			must.Contain(t, <-answer, "please")
			g.await("the audit trail", func() bool {
				data, _ := os.ReadFile(trail)
				return strings.Contains(string(data), `"approval":{"by":"owner","door":"`+door+`"}`)
			})
		})
	}
	t.Run("door/9 this machine sees the services", func(t *testing.T) {
		for _, path := range []string{"/health", "/status"} {
			if _, body := g.page("", path); !strings.Contains(body, `"name":"one"`) {
				t.Errorf("%s: %s", path, body)
			}
		}
	})
}

// A server that waits for approval is announced once, with a link.
func TestInboxWebhookServers(t *testing.T) {
	t.Parallel()
	type message struct{ ID, Kind, Server, From, Text, Link string }
	got := make(chan message, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		got <- m
	}))
	t.Cleanup(receiver.Close)
	g := unguarded(t)
	g.write("mcp.json", fmt.Sprintf(`{"access":{"keys":%q},"inbox":{"webhook":{"url":%q}},"mcpServers":{"one":{"command":%q,"args":["demo"]}}}`, filepath.Join(g.dir, "keys.json"), receiver.URL, g.binary))
	g.keys["boss"] = g.command("key", "create", "boss", "--scope", "admin")
	g.start()
	next := func() message {
		t.Helper()
		return must.Receive(t, "a message", got)
	}
	add := func(name, secret string) {
		t.Helper()
		answer := g.call("boss", "mcp-all-in-one-add-mcp-server", fmt.Sprintf(`{"name":%q,"command":"true","args":[%q],"replace":true}`, name, secret))
		if !strings.Contains(answer, `\"success\": true`) {
			t.Fatalf("adding %s: %s", name, answer)
		}
	}
	add("new-one", "entry-canary")
	first := next()
	if first.Kind != "server" || first.Server != "new-one" || !strings.HasPrefix(first.From, "key:") || first.Link != g.url+"/ui/inbox/default/new-one" ||
		!strings.Contains(first.Text, "The new server “new-one” waits for your yes") || strings.Contains(fmt.Sprint(first), "canary") {
		t.Errorf("message %+v", first)
	}
	// Another entry causes another message; the same entry does not.
	g.command("reload")
	add("new-one", "entry-canary-2")
	if second := next(); second.Server != first.Server || second.ID == first.ID {
		t.Errorf("message %+v after %+v", second, first)
	}
}

// The link in a message leads to the waiting call.
func TestInboxWebhook(t *testing.T) {
	t.Parallel()
	links := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var message struct{ Link string }
		_ = json.NewDecoder(r.Body).Decode(&message)
		links <- message.Link
	}))
	t.Cleanup(receiver.Close)
	g := unguarded(t)
	g.write("mcp.json", fmt.Sprintf(`{"inbox":{"webhook":{"url":%q}},"mcpServers":{"one":{"command":%q,"args":["demo"],"tools":{"echo":{"ask":true}}}}}`, receiver.URL, g.binary))
	g.start()
	owner := g.owner()
	answer := make(chan string, 1)
	go func() { answer <- g.call("", "one__echo", `{"message":"please"}`) }()
	id, ok := strings.CutPrefix(<-links, g.url+"/ui/inbox/")
	if status, body := owner("POST", "inbox/"+id, `{"action":"accept"}`); !ok || status != 204 {
		t.Errorf("the yes to %q: %d %s", id, status, body)
	}
	must.Contain(t, <-answer, "please")
}
