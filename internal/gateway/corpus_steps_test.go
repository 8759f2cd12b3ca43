package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestConversations runs the rows of the corpus that take several messages.
func TestConversations(t *testing.T) {
	r := newRig(t, demoConfig(t))
	for _, tc := range []struct {
		id  string
		run func(*testing.T, *rig)
	}{
		{"M22", sameToken}, {"M29", manySubscriptions}, {"M34", foreignCancel}, {"M37", unknownFilters},
		{"M38", manyListeners}, {"M40", unaskedAnswers}, {"M44", largeRoots},
		{"J34", flights("\"e\u0301\"", "\"\u00e9\"")}, {"J36", flights(`1`, `"1"`)}, {"J35", sameID},
		{"S11", manyAtOnce},
	} {
		t.Run("corpus/"+tc.id, func(t *testing.T) {
			tc.run(t, r)
			r.alive(t, "demo__echo", "message")
		})
	}
}

func (r *rig) session(t *testing.T, capabilities string) *mcptest.RawHTTP {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.http.URL)
	if m := c.Initialize(mcp.LatestLegacy, capabilities); m.Error != nil {
		t.Fatal(m.Raw)
	}
	return c
}

// sameToken checks that two calls with the same progress token each get their
// own progress.
func sameToken(t *testing.T, r *rig) {
	var wg sync.WaitGroup
	for i := range 2 {
		c := r.session(t, `{}`)
		wg.Go(func() {
			reply := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo__long_task","arguments":{"seconds":0.2,"steps":%d},"_meta":{"progressToken":"same"}}}`, i, 2+i))
			n := 0
			for _, m := range reply.Messages {
				if m.Method == mcp.NotificationProgress && strings.Contains(string(m.Params), `"same"`) {
					n++
				}
			}
			if n != 2+i {
				t.Errorf("call %d heard %d reports, want %d", i, n, 2+i)
			}
		})
	}
	wg.Wait()
}

// manySubscriptions checks the bound of a session.
func manySubscriptions(t *testing.T, r *rig) {
	c := r.session(t, `{}`)
	for i := range 1001 {
		m := c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/subscribe","params":{"uri":"example://test/%d"}}`, i, i)).Answer(t)
		if i < 1000 && m.Error != nil {
			t.Fatalf("subscription %d: %s", i, m.Raw)
		}
		if i == 1000 && codeOf(&m) != -32600 {
			t.Errorf("one too many: %s", m.Raw)
		}
	}
	if reply := c.Do(http.MethodDelete, ""); reply.Status >= 300 {
		t.Errorf("ending it: %d", reply.Status)
	}
}

// foreignCancel checks that a session cannot cancel a call of another session.
func foreignCancel(t *testing.T, r *rig) {
	mine, other := r.session(t, `{}`), r.session(t, `{}`)
	done := make(chan mcptest.Message)
	go func() {
		done <- mine.Post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo__long_task","arguments":{"seconds":0.3,"steps":1}}}`).Answer(t)
	}()
	for range 5 {
		other.Post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	}
	if m := <-done; m.Error != nil || !strings.Contains(m.Raw, "done after") {
		t.Errorf("the call: %s", m.Raw)
	}
}

// listenStream opens a subscription of the modern era.
func listenStream(t *testing.T, r *rig, filter string) (*mcptest.RawHTTP, string) {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.http.URL)
	params := withMeta(t, json.RawMessage(`{"notifications":`+filter+`}`), `{}`)
	for name, value := range modernHeader(mcp.LatestModern, mcp.MethodListen, params) {
		c.Header.Set(name, value)
	}
	return c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, mcp.MethodListen, params)
}

// unknownFilters checks that unknown filters are not acknowledged.
func unknownFilters(t *testing.T, r *rig) {
	c, line := listenStream(t, r, `{"toolsListChanged":true,"weatherChanged":true}`)
	events := c.Stream(http.MethodPost, line)
	defer events.Close()
	ack := events.Message(t, "an acknowledgement", func(m *mcptest.Message) bool { return m.Method == mcp.NotificationListening })
	if !strings.Contains(ack.Raw, "toolsListChanged") || strings.Contains(ack.Raw, "weather") {
		t.Errorf("acknowledged: %s", ack.Raw)
	}
}

// manyListeners checks the bound of a principal.
func manyListeners(t *testing.T, r *rig) {
	for range 990 {
		c, line := listenStream(t, r, `{"toolsListChanged":true}`)
		events := c.Stream(http.MethodPost, line)
		defer events.Close()
		events.Message(t, "an acknowledgement", func(m *mcptest.Message) bool { return m.Method == mcp.NotificationListening })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answers := make(chan string, 20)
	var wg sync.WaitGroup
	for range 20 { // half of them fit
		c, line := listenStream(t, r, `{"toolsListChanged":true}`)
		wg.Go(func() {
			if reply, err := c.Try(ctx, http.MethodPost, line); err == nil {
				answers <- reply.Body
			}
		})
	}
	select {
	case body := <-answers:
		if !strings.Contains(body, "overloaded") {
			t.Errorf("past the bound: %s", body)
		}
	case <-ctx.Done():
		t.Error("nobody is refused")
	}
	cancel()
	wg.Wait()
}

// unaskedAnswers checks that answers without a question are ignored.
func unaskedAnswers(t *testing.T, r *rig) {
	ask := func(params string) mcptest.Message {
		full := withMeta(t, json.RawMessage(params), `{"elicitation":{}}`)
		return r.post(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, full), modernHeader(mcp.LatestModern, mcp.MethodToolsCall, full)).Answer(t)
	}
	var required struct {
		RequestState  string
		InputRequests map[string]json.RawMessage
	}
	if m := ask(`{"name":"demo__ask_name","arguments":{}}`); json.Unmarshal(m.Result, &required) != nil || len(required.InputRequests) != 1 {
		t.Fatalf("nothing was asked: %s", m.Raw)
	}
	for key := range required.InputRequests {
		m := ask(fmt.Sprintf(`{"name":"demo__ask_name","arguments":{},"requestState":%q,"inputResponses":{"never":{"action":"accept"},%q:{"action":"accept","content":{"name":"Ada"}}}}`, required.RequestState, key))
		must.Contain(t, m.Raw, "Ada")
	}
}

// largeRoots checks that a client may have roots with long names.
func largeRoots(t *testing.T, r *rig) {
	own := mcptest.GatewayStdio(t, r.config)
	own.Initialize(mcp.LatestLegacy, `{"roots":{}}`)
	own.Send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"demo__show_roots","arguments":{}}}`)
	question := own.Request(mcp.MethodRootsList)
	roots := strings.Repeat(`{"uri":"file:///a/`+strings.Repeat("rather/long/", 6000)+`name"},`, 15)
	own.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[%s]}}`, question.ID, strings.TrimSuffix(roots, ",")))
	if m := own.Answer("5"); m.Error != nil || !strings.Contains(m.Raw, "rather/long") {
		t.Errorf("the answer: %.300s", m.Raw)
	}
}

// flights sends two requests with similar ids at the same time.
func flights(ids ...string) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) {
		for _, id := range ids {
			r.stdio.Send(callLine(id, "demo__long_task", json.RawMessage(`{"seconds":0.2,"steps":1}`)))
		}
		for _, id := range ids {
			if m := r.stdio.Answer(id); m.Error != nil {
				t.Errorf("%s: %s", id, m.Raw)
			}
		}
	}
}

// sameID checks that an id in flight is refused.
func sameID(t *testing.T, r *rig) {
	line := callLine("77", "demo__long_task", json.RawMessage(`{"seconds":0.3,"steps":1}`))
	r.stdio.Send(line)
	r.stdio.Send(line)
	first, second := r.stdio.Answer("77"), r.stdio.Answer("77")
	if codeOf(&first) != -32600 || second.Error != nil {
		t.Errorf("got %s and %s", first.Raw, second.Raw)
	}
}

// manyAtOnce sends ten thousand requests in one write.
func manyAtOnce(t *testing.T, r *rig) {
	const many = 10_000
	var b strings.Builder
	for i := range many {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", 100_000+i)
	}
	own := mcptest.GatewayStdio(t, r.config)
	done := make(chan error, 1)
	go func() {
		_, err := own.Write([]byte(b.String()))
		done <- err
	}()
	must.OK(t, <-done)
	own.Ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if code := own.Finish(20 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	answered := map[string]int{}
	for _, line := range own.Unclaimed() {
		m := mcptest.ParseMessage(t, line)
		answered[string(m.ID)]++
	}
	for i := range many {
		if n := answered[fmt.Sprint(100_000+i)]; n != 1 {
			t.Fatalf("request %d was answered %d times", i, n)
		}
	}
}
