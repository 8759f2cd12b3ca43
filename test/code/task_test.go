package code

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A task is a task as a client gets it, in either dialect.
type task struct {
	TaskID, Status, StatusMessage, ResultType string
	TTL, PollInterval                         int
	Result                                    result
	InputRequests                             map[string]any
	Error                                     struct{ Message string }
}

func readTask(t *testing.T, m mcptest.Message, member string) (is task) {
	t.Helper()
	raw := m.Result
	if member != "" {
		var outer map[string]json.RawMessage
		if err := json.Unmarshal(raw, &outer); err != nil {
			t.Fatalf("%v: %s", err, m.Raw)
		}
		raw = outer[member]
	}
	if err := json.Unmarshal(raw, &is); err != nil || is.TaskID == "" {
		t.Fatalf("there is no task in %s", m.Raw)
	}
	return is
}

// until polls so until it returns true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	pause := time.NewTicker(20 * time.Millisecond) // a script runs at a low priority and must get its turn
	defer pause.Stop()
	for end := time.Now().Add(patience); !so(); <-pause.C {
		if time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// ask sends a request and waits for its response.
func (c *client) ask(method, params string) mcptest.Message {
	c.t.Helper()
	return c.gw.Answer(c.request(method, params))
}

// request sends a request and returns its id.
func (c *client) request(method, params string) string {
	c.next++
	id := fmt.Sprintf(`"r%d"`, c.next)
	c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// began starts a script as a task.
func (c *client) began(code, more string) task {
	c.t.Helper()
	is := readTask(c.t, c.ask(mcp.MethodToolsCall, fmt.Sprintf(`{"name":"run","arguments":{"code":%q},"task":{"ttl":60000}%s}`, code, more)), "task")
	if is.Status != "working" || is.TTL == 0 || is.PollInterval == 0 {
		c.t.Errorf("the task is %+v", is)
	}
	return is
}

// TestLegacyTask has a client of 2025-11-25 run a script as a task.
func TestLegacyTask(t *testing.T) {
	c := start(t, `"mode":"code",`, `{"elicitation":{}}`)
	get := func(is task) task {
		return readTask(t, c.ask(mcp.MethodTasksGet, fmt.Sprintf(`{"taskId":%q}`, is.TaskID)), "")
	}
	t.Run("code/task result", func(t *testing.T) {
		c.t = t
		is := c.began(`await tools.demo.add({a: 1, b: 2}); return (await tools.demo.add({a: 3, b: 4})).sum`, `,"_meta":{"progressToken":"p"}`)
		c.gw.Notification(mcp.NotificationProgress)
		m := c.ask(mcp.MethodTasksResult, fmt.Sprintf(`{"taskId":%q}`, is.TaskID))
		if r := read(t, m); r.text() != "7" || !strings.Contains(m.Raw, `"io.modelcontextprotocol/related-task":{"taskId":"`+is.TaskID) {
			t.Errorf("it is %s", m.Raw)
		}
		if now := get(is); now.Status != "completed" || now.StatusMessage != "2 demo.add: 2 done, 0 running" {
			t.Errorf("the task is %+v", now)
		}
		if m := c.ask(mcp.MethodTasksList, `{}`); !strings.Contains(m.Raw, is.TaskID) {
			t.Errorf("the list is %s", m.Raw)
		}
		if m := c.ask(mcp.MethodTasksCancel, fmt.Sprintf(`{"taskId":%q}`, is.TaskID)); m.Error == nil || !strings.Contains(m.Raw, "has ended") {
			t.Errorf("cancelling what has ended: %s", m.Raw)
		}
	})
	t.Run("code/task with a failed call", func(t *testing.T) {
		c.t = t
		is := c.began(`await tools.demo.add({a: 1, b: 2}); try { await tools.demo.fail({}) } catch {}; return 1`, `,"_meta":{"progressToken":"q"}`)
		c.gw.Notification(mcp.NotificationProgress)
		c.ask(mcp.MethodTasksResult, fmt.Sprintf(`{"taskId":%q}`, is.TaskID))
		if now := get(is); now.StatusMessage != "2 demo.fail: 1 done, 1 failed, 0 running" {
			t.Errorf("the task is %+v", now)
		}
	})
	t.Run("code/task failed", func(t *testing.T) {
		c.t = t
		is := c.began(`nothing.here()`, "")
		if r := read(t, c.ask(mcp.MethodTasksResult, fmt.Sprintf(`{"taskId":%q}`, is.TaskID))); !r.IsError || !strings.Contains(r.text(), "ReferenceError") {
			t.Errorf("it is %+v", r)
		}
		if now := get(is); now.Status != "failed" {
			t.Errorf("the task is %+v", now)
		}
	})
	t.Run("code/task question", func(t *testing.T) {
		c.t = t
		is := c.began(`return (await ask('Which?', {type: 'object', properties: {x: {type: 'string'}}})).x`, "")
		id := c.request(mcp.MethodTasksResult, fmt.Sprintf(`{"taskId":%q}`, is.TaskID))
		q := c.gw.Request(mcp.MethodElicit)
		if !strings.Contains(q.Raw, is.TaskID) {
			t.Errorf("the question does not name its task: %s", q.Raw)
		}
		if now := get(is); now.Status != "input_required" {
			t.Errorf("the task is %+v", now)
		}
		c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"x":"this"}}}`, q.ID))
		if r := read(t, c.gw.Answer(id)); r.text() != "this" {
			t.Errorf("it is %+v", r)
		}
	})
	t.Run("code/task cancel", func(t *testing.T) {
		c.t = t
		is := c.began(`for (;;) await sleep(10)`, "")
		if now := readTask(t, c.ask(mcp.MethodTasksCancel, fmt.Sprintf(`{"taskId":%q}`, is.TaskID)), ""); now.Status != "cancelled" {
			t.Errorf("the task is %+v", now)
		}
		if m := c.ask(mcp.MethodTasksResult, fmt.Sprintf(`{"taskId":%q}`, is.TaskID)); m.Error == nil || !strings.Contains(m.Raw, "was cancelled") {
			t.Errorf("its result is %s", m.Raw)
		}
	})
	t.Run("code/task unknown", func(t *testing.T) {
		c.t = t
		if m := c.ask(mcp.MethodTasksGet, `{"taskId":"0123456789abcdef"}`); m.Error == nil {
			t.Errorf("a task that is not there: %s", m.Raw)
		}
	})
}

// TestCancelledTasksEnd cancels as many tasks as one client may run, and checks
// that all of them end.
func TestCancelledTasksEnd(t *testing.T) {
	c := start(t, `"mode":"code",`, `{}`)
	var all []task
	for range 8 {
		all = append(all, c.began(`for (;;) await sleep(10)`, ""))
	}
	full := func() bool {
		return strings.Contains(c.ask(mcp.MethodToolsCall, `{"name":"run","arguments":{"code":"return 1"}}`).Raw, "too many scripts run")
	}
	until(t, "all run", full)
	for _, is := range all {
		c.ask(mcp.MethodTasksCancel, fmt.Sprintf(`{"taskId":%q}`, is.TaskID))
	}
	for range 8 {
		until(t, "another can begin", func() bool {
			return c.ask(mcp.MethodToolsCall, `{"name":"run","arguments":{"code":"for (;;) await sleep(10)"},"task":{"ttl":60000}}`).Error == nil
		})
	}
}

// TestTasksOfOthers checks that tasks belong to the principal that began them,
// in both eras.
func TestTasksOfOthers(t *testing.T) {
	s := newShop(t, stored, map[string][]string{"ann": {"mode:code"}, "bob": {"mode:code"}})
	const takes = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}`
	ask := func(as, method, name, params string) mcptest.Message {
		t.Helper()
		return s.modern(as, method, name, params, takes)
	}
	about := func(is task) string { return fmt.Sprintf(`{"taskId":%q}`, is.TaskID) }
	get := func(is task) task { return readTask(t, ask("ann", mcp.MethodTasksGet, is.TaskID, about(is)), "") }
	begin := func(name, arguments string) task {
		t.Helper()
		is := readTask(t, ask("ann", mcp.MethodToolsCall, name, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)), "")
		if is.ResultType != "task" {
			t.Errorf("it is %+v", is)
		}
		return is
	}
	t.Run("code/task modern at once", func(t *testing.T) {
		// On a busy machine it can take longer than a client waits before its first poll.
		until(t, "a script that ends at once is answered without a task", func() bool {
			m := ask("ann", mcp.MethodToolsCall, "run", `{"name":"run","arguments":{"code":"return 7"}}`)
			return strings.Contains(string(m.Result), `"resultType":"complete"`)
		})
	})
	t.Run("code/task modern run", func(t *testing.T) {
		is := begin("run", `{"code":"await sleep(2000); return (await tools.reports.sum({n: 4})).sum"}`)
		until(t, "it ends", func() bool { return get(is).Status == "completed" })
		if now := get(is); now.Result.text() != "10" {
			t.Errorf("the task is %+v", now)
		}
		for _, method := range []string{mcp.MethodTasksGet, mcp.MethodTasksCancel} {
			if m := ask("bob", method, is.TaskID, about(is)); m.Error == nil {
				t.Errorf("%s of another's: %s", method, m.Raw)
			}
		}
	})
	t.Run("code/task modern question", func(t *testing.T) {
		is := begin("run", `{"code":"return (await ask('Which?', {type: 'object', properties: {x: {type: 'string'}}})).x"}`)
		var now task
		until(t, "it asks", func() bool { now = get(is); return now.Status == "input_required" })
		for key := range now.InputRequests {
			params := fmt.Sprintf(`{"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{"x":"this"}}}}`, is.TaskID, key)
			if m := ask("bob", mcp.MethodTasksUpdate, is.TaskID, params); m.Error == nil {
				t.Errorf("another answers: %s", m.Raw)
			}
			if m := ask("ann", mcp.MethodTasksUpdate, is.TaskID, params); m.Error != nil {
				t.Fatal(m.Raw)
			}
		}
		until(t, "it ends", func() bool { now = get(is); return now.Status == "completed" })
		if now.Result.text() != "this" {
			t.Errorf("the task is %+v", now)
		}
	})
	t.Run("code/task modern cancel", func(t *testing.T) {
		is := begin("run", `{"code":"for (;;) await sleep(10)"}`)
		if m := ask("ann", mcp.MethodTasksCancel, is.TaskID, about(is)); m.Error != nil {
			t.Fatal(m.Raw)
		}
		if now := get(is); now.Status != "cancelled" {
			t.Errorf("the task is %+v", now)
		}
	})
	t.Run("code/task legacy stored", func(t *testing.T) {
		w, other := s.open("ann", "/s/reports/mcp"), s.open("bob", "/s/reports/mcp")
		is := readTask(t, w.ask(mcp.MethodToolsCall, map[string]any{"name": "sum", "arguments": map[string]any{"n": 4}, "task": map[string]any{}}), "task")
		if m := other.ask(mcp.MethodTasksResult, map[string]any{"taskId": is.TaskID}); m.Error == nil {
			t.Errorf("another has the result: %s", m.Raw)
		}
		if r := read(t, w.ask(mcp.MethodTasksResult, map[string]any{"taskId": is.TaskID})); !strings.Contains(r.text(), `{"sum":10}`) {
			t.Errorf("it is %+v", r)
		}
		if m := other.ask(mcp.MethodTasksList, map[string]any{}); strings.Contains(m.Raw, is.TaskID) {
			t.Errorf("another is listed the task: %s", m.Raw)
		}
		if m := w.ask(mcp.MethodTasksList, map[string]any{}); !strings.Contains(m.Raw, is.TaskID) {
			t.Errorf("the list is %s", m.Raw)
		}
	})
}

// A task keeps its arguments after the request that began it.
func TestTaskArguments(t *testing.T) {
	s := newShop(t, stored, map[string][]string{"ann": {"mode:code"}})
	w := s.open("ann", "/s/reports/mcp")
	for _, bad := range []any{1, "x", []any{}, true, map[string]any{"ttl": -1}, map[string]any{"ttl": "1"}} {
		m := w.ask(mcp.MethodToolsCall, map[string]any{"name": "sum", "arguments": map[string]any{"n": 4}, "task": bad})
		if m.Error == nil || m.Error.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("task %v: %s", bad, m.Raw)
		}
	}
	if r := read(t, w.ask(mcp.MethodToolsCall, map[string]any{"name": "sum", "arguments": map[string]any{"n": 4}, "task": nil})); !strings.Contains(r.text(), `{"sum":10}`) {
		t.Errorf("without a task it is %+v", r)
	}
	for first := 0; first < 24; first += 6 { // 8 scripts of one client may run at once
		begun := map[string]int{}
		for n := first; n < first+6; n++ {
			is := readTask(t, w.ask(mcp.MethodToolsCall, map[string]any{"name": "sum", "arguments": map[string]any{"n": n}, "task": map[string]any{}}), "task")
			begun[is.TaskID] = n
		}
		for id, n := range begun {
			if r := read(t, w.ask(mcp.MethodTasksResult, map[string]any{"taskId": id})); !strings.Contains(r.text(), fmt.Sprintf(`{"sum":%d}`, n*(n+1)/2)) {
				t.Errorf("the sum up to %d is %+v", n, r)
			}
		}
	}
}

// A modern client that listens hears how its task goes on.
func TestTaskIsHeardOf(t *testing.T) {
	s := newShop(t, stored, map[string][]string{"ann": {"mode:code"}})
	const takes = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{}}`
	is := readTask(t, s.modern("ann", mcp.MethodToolsCall, "run", `{"name":"run","arguments":{"code":"await ask('Go on?', {type: 'object', properties: {}}); return 1"}}`, takes), "")
	h := mcptest.NewRawHTTP(t, s.url+"/mcp")
	h.Header.Set("Authorization", "Bearer "+s.keys["ann"])
	h.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	h.Header.Set("Mcp-Method", mcp.MethodListen)
	events := h.Stream("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"notifications":{"taskIds":[%q]},"_meta":{%q:%q,%q:%s,%q:{"name":"t","version":"1"}}}}`,
		mcp.MethodListen, is.TaskID, mcp.MetaVersion, mcp.V2026_07_28, mcp.MetaCapabilities, takes, mcp.MetaClientInfo))
	if e := events.Next(); e == nil || !strings.Contains(e.Data, is.TaskID) {
		t.Fatalf("it is not heard of: %+v", e)
	}
	var now task
	until(t, "it asks", func() bool {
		now = readTask(t, s.modern("ann", mcp.MethodTasksGet, is.TaskID, fmt.Sprintf(`{"taskId":%q}`, is.TaskID), takes), "")
		return now.Status == "input_required"
	})
	for key := range now.InputRequests {
		s.modern("ann", mcp.MethodTasksUpdate, is.TaskID, fmt.Sprintf(`{"taskId":%q,"inputResponses":{%q:{"action":"accept","content":{}}}}`, is.TaskID, key), takes)
	}
	for e := events.Next(); ; e = events.Next() {
		if e == nil {
			t.Fatal("the end is not told")
		}
		if strings.Contains(e.Data, is.TaskID) && strings.Contains(e.Data, `"completed"`) {
			return
		}
	}
}
