package code

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

const patience = 60 * time.Second

// shell returns the entry of a demo server that a shell starts after running
// first.
func shell(t *testing.T, first string) map[string]any {
	t.Helper()
	return map[string]any{"command": "sh", "args": []string{"-c", first + ` exec "$0" demo`, mcptest.BuildProduct(t)}}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// loop returns a script that calls a tool until a call fails, and returns the
// error.
func loop(server string) string {
	return `for (;;) { try { await tools.` + server + `.add({a: 1, b: 1}); await sleep(20) } catch (e) { return e.name + ': ' + e.message } }`
}

// TestServerInMidScript checks that a failure of a server during a script is an
// error that the script can catch, and that it affects only calls to that
// server.
func TestServerInMidScript(t *testing.T) {
	t.Run("code/killed", func(t *testing.T) {
		pid := filepath.Join(t.TempDir(), "pid")
		c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, map[string]any{"mode": "code", "mcpServers": map[string]any{
			"demo": shell(t, `echo $$ >'`+pid+`';`), "other": shell(t, ""),
		}}))}
		c.gw.Initialize(mcp.V2025_11_25, `{}`)
		id := c.send("run", map[string]any{"code": `const other = await tools.other.add({a: 1, b: 2});
			try { await tools.demo.long_task({seconds: 60, steps: 600}) } catch (e) { return [e.name, e.server, other.sum, (await tools.other.add({a: 2, b: 2})).sum] }`}, `"progressToken":"p"`)
		c.gw.Notification(mcp.NotificationProgress) // of other
		c.gw.Notification(mcp.NotificationProgress) // of the long task, which runs
		raw, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		server, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(server)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != `["CallError","demo",3,4]` {
			t.Errorf("it is %s", text)
		}
	})
	t.Run("code/reload", func(t *testing.T) {
		servers := map[string]any{"demo": shell(t, ""), "gone": shell(t, "")}
		file := map[string]any{"mode": "code", "scripts": map[string]any{"calls": 100000}, "mcpServers": servers}
		path := filepath.Join(t.TempDir(), "mcp.json")
		write := func() {
			if err := os.WriteFile(path, []byte(encode(t, file)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write()
		c := &client{t: t, gw: mcptest.StartStdio(t, mcptest.Product(t, "stdio", "-c", path))}
		c.gw.Initialize(mcp.V2025_11_25, `{}`)
		id := c.send("run", map[string]any{"code": `const how = await (async () => {` + loop("gone") + `})(); return [how, (await tools.demo.add({a: 2, b: 2})).sum]`}, `"progressToken":"p"`)
		c.gw.Notification(mcp.NotificationProgress) // it has called
		delete(servers, "gone")
		write()
		c.gw.Signal(syscall.SIGHUP)
		if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); !strings.HasPrefix(text, `["CallError: `) || !strings.Contains(text, "gone") || !strings.HasSuffix(text, `,4]`) {
			t.Errorf("it is %s", text)
		}
	})
}

// A house is a gateway over HTTP whose server records the requests it gets.
type house struct {
	t     *testing.T
	url   string
	heard string
	keys  map[string]string
	store *access.Keys
	file  map[string]any
	audit string
	path  string
	gw    *mcptest.Process
}

func newHouse(t *testing.T, server map[string]any) *house {
	t.Helper()
	h := &house{t: t, heard: filepath.Join(t.TempDir(), "heard"), keys: map[string]string{}}
	file := filepath.Join(t.TempDir(), "keys.json")
	var err error
	if h.store, err = access.OpenKeys(file, nil); err != nil {
		t.Fatal(err)
	}
	for name, grant := range map[string]access.Grant{"ann": {}, "bob": {}, "chief": {Admin: true}} {
		if h.keys[name], _, err = h.store.Create(name, grant, nil); err != nil {
			t.Fatal(err)
		}
	}
	h.listens(server)
	h.audit = file + ".audit"
	h.file = map[string]any{
		"mode": "code", "scripts": map[string]any{"calls": 100000}, "access": map[string]any{"keys": file}, "audit": map[string]any{"file": h.audit}, "mcpServers": map[string]any{"demo": server},
	}
	h.path = mcptest.WriteConfig(t, encode(t, h.file))
	h.gw = mcptest.Start(t, mcptest.Product(t, "http", "--mcp-config", h.path, "--port", "0"))
	h.url = h.gw.Listening()
	return h
}

// listens makes the demo server of an entry write its requests to h.heard.
func (h *house) listens(server map[string]any) {
	server["command"], server["args"] = "sh", []string{"-c", `tee '` + h.heard + `' | "$0" demo`, mcptest.BuildProduct(h.t)}
}

// run runs a script in a new session. The answer is empty if there is none.
func (h *house) run(as, code string) <-chan string {
	w := mcptest.NewRawHTTP(h.t, h.url+"/mcp")
	w.Header.Set("Authorization", "Bearer "+h.keys[as])
	w.Initialize(mcp.V2025_11_25, `{}`)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"run","arguments":`+encode(h.t, map[string]any{"code": code})+`}}`))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = w.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	done := make(chan string, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			done <- ""
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		done <- string(text)
	}()
	return done
}

func (h *house) answer(done <-chan string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	select {
	case text := <-done:
		return text
	case <-ctx.Done():
		h.t.Fatal("no answer")
		return ""
	}
}

// calls counts the calls that the server got.
func (h *house) calls() int {
	raw, _ := os.ReadFile(h.heard) // the file does not exist before the server starts
	return strings.Count(string(raw), `"tools/call"`)
}

func (h *house) until(what string, so func() bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			h.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// api requests the console's API as an administrator.
func (h *house) api(method, path, body string) string {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.keys["chief"])
	req.Header.Set("X-Mcp-Aio", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// A waiting is a question in the inbox.
type waiting struct{ ID, Tool, Code string }

// questions waits until n questions are open.
func (h *house) questions(n int) []waiting {
	h.t.Helper()
	var list []waiting
	h.until(fmt.Sprintf("%d questions wait", n), func() bool {
		list = nil
		return json.Unmarshal([]byte(h.api(http.MethodGet, "inbox", "")), &list) == nil && len(list) == n
	})
	return list
}

// TestKeyRevokedInMidScript checks that revoking a key ends its scripts.
func TestKeyRevokedInMidScript(t *testing.T) {
	t.Run("code/revoked", func(t *testing.T) {
		h := newHouse(t, map[string]any{})
		done := h.run("ann", loop("demo"))
		h.until("the script calls", func() bool { return h.calls() > 1 })
		if _, err := h.store.Revoke("ann"); err != nil {
			t.Fatal(err)
		}
		if text := h.answer(done); strings.Contains(text, `"result"`) && !strings.Contains(text, `"isError":true`) {
			t.Errorf("it is %s", text)
		}
		before := h.calls()
		if text := h.answer(h.run("bob", `return (await tools.demo.add({a: 2, b: 2})).sum`)); !strings.Contains(text, `"text":"4"`) {
			t.Errorf("another key: %s", text)
		}
		if got := h.calls(); got != before+1 {
			t.Errorf("%d calls after the script had ended, want 1", got-before)
		}
	})
}

// TestKeyRevokedInATask checks that revoking a key ends its scripts that run as
// tasks, which have no request.
func TestKeyRevokedInATask(t *testing.T) {
	t.Run("code/revoked task", func(t *testing.T) {
		h := newHouse(t, map[string]any{})
		w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, h.url+"/mcp")}
		w.Header.Set("Authorization", "Bearer "+h.keys["ann"])
		w.Initialize(mcp.V2025_11_25, `{}`)
		readTask(t, w.ask(mcp.MethodToolsCall, map[string]any{"name": "run", "arguments": map[string]any{"code": loop("demo")}, "task": map[string]any{}}), "task")
		h.until("the script calls", func() bool { return h.calls() > 1 })
		if _, err := h.store.Revoke("ann"); err != nil {
			t.Fatal(err)
		}
		h.until("it calls no more", func() bool {
			before := h.calls()
			if text := h.answer(h.run("bob", `await sleep(500); return (await tools.demo.add({a: 2, b: 2})).sum`)); !strings.Contains(text, `"text":"4"`) {
				t.Fatalf("another key: %s", text)
			}
			return h.calls() == before+1
		})
	})
}

// TestAskedInAScript checks that a person can approve a call of a script, and
// sees its code.
func TestAskedInAScript(t *testing.T) {
	for action, want := range map[string]string{"accept": `"text":"4"`, "decline": "CallError"} {
		t.Run("code/ask "+action, func(t *testing.T) {
			h := newHouse(t, map[string]any{"tools": map[string]any{"add": map[string]any{"ask": true}}})
			const code = `try { return (await tools.demo.add({a: 2, b: 2})).sum } catch (e) { return e.name }`
			done := h.run("ann", code)
			var list []struct{ ID string }
			var inbox string
			h.until("the question is there", func() bool {
				inbox = h.api(http.MethodGet, "inbox", "")
				return json.Unmarshal([]byte(inbox), &list) == nil && len(list) > 0
			})
			if !strings.Contains(inbox, "tools.demo.add") {
				t.Errorf("the question does not show the code: %s", inbox)
			}
			if h.calls() != 0 {
				t.Error("the tool ran before anybody said yes")
			}
			h.api(http.MethodPost, "inbox/"+list[0].ID, `{"action":"`+action+`"}`)
			if text := h.answer(done); !strings.Contains(text, want) {
				t.Errorf("it is %s", text)
			}
		})
	}
}

// TestYesForTheScript checks that the approval for a script covers all calls of
// that tool by that run, and nothing else.
func TestYesForTheScript(t *testing.T) {
	asks := map[string]any{"ask": true}
	start := func(t *testing.T) *house {
		return newHouse(t, map[string]any{"tools": map[string]any{"add": asks, "echo": asks}})
	}
	t.Run("code/yes for the script", func(t *testing.T) {
		h := start(t)
		const code = `const many = () => Promise.all([1, 2, 3].map((b) => tools.demo.add({a: 1, b})));
			return [...await many(), ...await many()].reduce((n, v) => n + v.sum, 0) + await tools.demo.echo({message: '!'})`
		done := h.run("ann", code)
		first := h.questions(3)
		if h.calls() != 0 {
			t.Error("a tool ran before anybody said yes")
		}
		if text := h.api(http.MethodPost, "inbox/"+first[1].ID, `{"action":"accept","for":"ever"}`); !strings.Contains(text, "left out or") {
			t.Errorf("a yes for ever: %s", text)
		}
		if text := h.api(http.MethodPost, "inbox/"+first[1].ID, `{"action":"decline","for":"script"}`); !strings.Contains(text, "goes with the action accept") {
			t.Errorf("a no for the script: %s", text)
		}
		h.api(http.MethodPost, "inbox/"+first[1].ID, `{"action":"accept","for":"script"}`)
		h.until("the other tool is asked about", func() bool { list := h.questions(1); return list[0].Tool == "echo" })
		if n := h.calls(); n != 6 {
			t.Errorf("%d calls ran, want 6", n)
		}
		h.api(http.MethodPost, "inbox/"+h.questions(1)[0].ID, `{"action":"accept"}`)
		if text := h.answer(done); !strings.Contains(text, `18!`) {
			t.Errorf("it is %s", text)
		}
		list, err := h.store.List()
		if err != nil {
			t.Fatal(err)
		}
		chief := list[slices.IndexFunc(list, func(k access.Key) bool { return k.Name == "chief" })].ID
		h.until("the audit trail says who said yes", func() bool {
			trail, _ := os.ReadFile(h.audit)
			yes := fmt.Sprintf(`"approval":{"by":"key:%s","door":"console"`, chief)
			return strings.Count(string(trail), yes+`,"for":"script"}`) == 6 && strings.Count(string(trail), yes+`}`) == 1
		})
		// Running the same code again is another run.
		again := h.run("ann", code)
		for _, q := range h.questions(3) {
			h.api(http.MethodPost, "inbox/"+q.ID, `{"action":"decline"}`)
		}
		if text := h.answer(again); !strings.Contains(text, "no person approved it") {
			t.Errorf("the next run: %s", text)
		}
		if n := h.calls(); n != 7 {
			t.Errorf("%d calls ran, want 7", n)
		}
	})
	t.Run("code/yes for the script is none to another server of that name", func(t *testing.T) {
		h := start(t)
		done := h.run("ann", `await tools.demo.add({a: 1, b: 1}); try { await tools.demo.echo({message: 'x'}) } catch {}; return await tools.demo.add({a: 1, b: 2})`)
		h.api(http.MethodPost, "inbox/"+h.questions(1)[0].ID, `{"action":"accept","for":"script"}`)
		h.until("the other tool is asked about", func() bool { return h.questions(1)[0].Tool == "echo" })
		h.heard += "2"
		h.listens(h.file["mcpServers"].(map[string]any)["demo"].(map[string]any))
		if err := os.WriteFile(h.path, []byte(encode(t, h.file)), 0o600); err != nil {
			t.Fatal(err)
		}
		h.gw.Signal(syscall.SIGHUP)
		h.until("the other server runs", func() bool { _, err := os.Stat(h.heard); return err == nil })
		h.until("the other server is called", func() bool {
			h.answer(h.run("bob", `await tools.demo.long_task({seconds: 0.01, steps: 1})`))
			return h.calls() > 0
		})
		h.api(http.MethodPost, "inbox/"+h.questions(1)[0].ID, `{"action":"decline"}`)
		h.until("it is asked about again", func() bool { return h.questions(1)[0].Tool == "add" })
		h.api(http.MethodPost, "inbox/"+h.questions(1)[0].ID, `{"action":"decline"}`)
		if text := h.answer(done); !strings.Contains(text, "no person approved it") {
			t.Errorf("it is %s", text)
		}
	})
	t.Run("code/no script", func(t *testing.T) {
		h := start(t)
		w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, h.url+"/mcp")}
		w.Header.Set("Authorization", "Bearer "+h.keys["ann"])
		w.Initialize(mcp.V2025_11_25, `{}`)
		done := make(chan string, 1)
		go func() {
			done <- string(w.ask(mcp.MethodToolsCall, map[string]any{"name": "exec", "arguments": map[string]any{"server_name": "demo", "tool_name": "add", "arguments": map[string]any{"a": 1, "b": 2}}}).Raw)
		}()
		id := h.questions(1)[0].ID
		if text := h.api(http.MethodPost, "inbox/"+id, `{"action":"accept","for":"script"}`); !strings.Contains(text, "a call that a script makes") {
			t.Errorf("it is %s", text)
		}
		h.api(http.MethodPost, "inbox/"+id, `{"action":"decline"}`)
		if text := h.answer(done); !strings.Contains(text, "policy_denied") || h.calls() != 0 {
			t.Errorf("it is %s", text)
		}
	})
}

// TestCostOfRun checks that the definition of run is small.
func TestCostOfRun(t *testing.T) {
	t.Run("code/cost of the definition", func(t *testing.T) {
		c := start(t, `"mode":"code",`, `{}`)
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(c.gw.Ask(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`).Result, &list); err != nil {
			t.Fatal(err)
		}
		for _, raw := range list.Tools {
			if strings.Contains(string(raw), `"name":"run"`) {
				if got := catalog.CostOf(raw).Tokens; got > 350 {
					t.Errorf("it costs %d tokens: %s", got, raw)
				}
				return
			}
		}
		t.Error("run is not shown")
	})
}
