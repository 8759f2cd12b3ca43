package code

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

// A counter is a gateway whose server counts its calls.
type counter struct {
	t      *testing.T
	server *mcpserver.Server
	asked  atomic.Int64
	file   map[string]any
	path   string
	audit  string
	gw     *mcptest.Process
	keys   map[string]string
}

// counting returns tools that answer with the number of calls so far.
func (l *counter) counting(version string) []mcpserver.Tool {
	count := func(context.Context, *mcpserver.Call) (any, error) { return mcpserver.Text("%d", l.asked.Add(1)), nil }
	tool := func(name, annotations string, run func(context.Context, *mcpserver.Call) (any, error)) mcpserver.Tool {
		return mcpserver.Tool{Definition: fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"},"annotations":%s}`, name, version, annotations), Run: run}
	}
	return []mcpserver.Tool{
		tool("look", `{"readOnlyHint":true}`, count),
		tool("write", `{"readOnlyHint":false}`, count),
		tool("fail", `{"readOnlyHint":true}`, func(context.Context, *mcpserver.Call) (any, error) {
			return mcpserver.Failure("%d", l.asked.Add(1)), nil
		}),
		tool("question", `{"readOnlyHint":true}`, func(ctx context.Context, c *mcpserver.Call) (any, error) {
			if _, err := c.Ask(ctx, "q", mcp.MethodElicit, map[string]any{"message": "Well?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}}}); err != nil {
				return nil, err
			}
			return count(ctx, c)
		}),
	}
}

// newCounter starts a counter; more is added to the settings of its tool look.
func newCounter(t *testing.T, more map[string]any) *counter {
	t.Helper()
	l := &counter{t: t, server: mcpserver.New("counting"), audit: filepath.Join(t.TempDir(), "audit.jsonl"), keys: map[string]string{}}
	l.server.SetTools(l.counting("first")...)
	handler, done := l.server.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { front.Close(); done() })
	keys := filepath.Join(t.TempDir(), "keys.json")
	store, err := access.OpenKeys(keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, grant := range map[string]access.Grant{"ann": {}, "bob": {}, "chief": {Admin: true}} {
		if l.keys[name], _, err = store.Create(name, grant, nil); err != nil {
			t.Fatal(err)
		}
	}
	tools := map[string]any{}
	for _, name := range []string{"look", "write", "fail", "question"} {
		tools[name] = map[string]any{"cache": "10m"}
	}
	maps.Copy(tools["look"].(map[string]any), more)
	l.file = map[string]any{
		"mode": "code", "access": map[string]any{"keys": keys}, "audit": map[string]any{"file": l.audit},
		"mcpServers": map[string]any{"lib": map[string]any{"url": front.URL + "/mcp", "tools": tools}},
	}
	l.path = mcptest.WriteConfig(t, encode(t, l.file))
	l.gw = mcptest.Start(t, mcptest.Product(t, "http", "--mcp-config", l.path, "--port", "0"))
	l.gw.Listening()
	return l
}

// open opens a session of a key.
func (l *counter) open(as string) *web {
	w := &web{t: l.t, RawHTTP: mcptest.NewRawHTTP(l.t, l.gw.URL+"/mcp")}
	w.Header.Set("Authorization", "Bearer "+l.keys[as])
	w.Initialize(mcp.V2025_11_25, `{}`)
	return w
}

// api requests the console's API as an administrator.
func (l *counter) api(method, path, body string) string {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.gw.URL+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.keys["chief"])
	req.Header.Set("X-Mcp-Aio", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

func (l *counter) until(what string, so func() bool) {
	l.t.Helper()
	for end := time.Now().Add(patience); !so(); {
		if time.Now().After(end) {
			l.t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// exec calls a tool and returns its text.
func (w *web) exec(tool string, arguments map[string]any) string {
	w.t.Helper()
	return w.call("exec", map[string]any{"server_name": "lib", "tool_name": tool, "arguments": arguments}).text()
}

// TestCache checks that a result of a read-only tool is reused for the same
// call of the same principal, through any door, and for no other call.
func TestCache(t *testing.T) {
	l := newCounter(t, nil)
	ann, bob := l.open("ann"), l.open("bob")
	expect := func(name, got, want string) {
		t.Helper()
		t.Run("code/cache "+name, func(t *testing.T) {
			if got != want {
				t.Errorf("it is %q, want %q", got, want)
			}
		})
	}
	args := map[string]any{"a": 1, "b": map[string]any{"c": 2, "d": 3}}
	expect("first", ann.exec("look", args), "1")
	expect("again", ann.exec("look", args), "1")
	expect("by a script, in another order", ann.call("run", map[string]any{"code": `return await call.raw('lib', 'look', {b: {d: 3, c: 2}, a: 1})`}).text(), `{"content":[{"text":"1","type":"text"}]}`)
	expect("another session", l.open("ann").exec("look", args), "1")
	expect("other arguments", ann.exec("look", nil), "2")
	expect("another principal", bob.exec("look", args), "3")
	expect("the first one still", ann.exec("look", args), "1")
	expect("what writes", ann.exec("write", nil)+ann.exec("write", nil), "45")
	expect("errors", ann.exec("fail", nil)+ann.exec("fail", nil), "67")
	if all := l.api(http.MethodGet, "traffic?filter=cache", ""); strings.Count(all, "answered from the cache") < 4 || !strings.Contains(all, "由缓存应答") {
		t.Errorf("the record does not tell: %s", all)
	}

	l.server.SetTools(l.counting("second")...)
	l.until("a changed list drops it", func() bool { return ann.exec("look", args) != "1" })
	before := ann.exec("look", args)
	expect("after the change", ann.exec("look", args), before)
	l.file["mcpServers"].(map[string]any)["lib"].(map[string]any)["tools"].(map[string]any)["look"] = map[string]any{"cache": "9m"}
	if err := os.WriteFile(l.path, []byte(encode(t, l.file)), 0o600); err != nil {
		t.Fatal(err)
	}
	l.gw.Signal(syscall.SIGHUP)
	l.until("a changed file drops it", func() bool { return ann.exec("look", args) != before })
	l.gw.Stop()
	data, err := os.ReadFile(l.audit)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var e struct {
			Door, Principal, Item string
			Cached                bool
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		found[fmt.Sprintf("%s %s %t", e.Door, e.Item, e.Cached)]++
	}
	if found["exec look true"] < 4 || found["run look true"] != 1 || found["exec look false"] < 4 || found["exec write false"] != 2 || found["exec fail false"] != 2 {
		t.Errorf("the trail is %v", found)
	}
}

// TestCacheIsDecidedOn checks that calls answered from the cache are authorized
// too.
func TestCacheIsDecidedOn(t *testing.T) {
	t.Run("code/cache rate", func(t *testing.T) {
		ann := newCounter(t, map[string]any{"callsPerMinute": 2}).open("ann")
		ann.exec("look", nil)
		if text := ann.exec("look", nil); text != "1" {
			t.Errorf("the second call: %s", text)
		}
		if text := ann.exec("look", nil); !strings.Contains(text, "rate_limited") {
			t.Errorf("the third call: %s", text)
		}
	})
	t.Run("code/cache ask", func(t *testing.T) {
		l := newCounter(t, map[string]any{"ask": true})
		ann := l.open("ann")
		for _, want := range []struct{ action, text string }{{"accept", "1"}, {"accept", "1"}, {"decline", "policy_denied"}} {
			done := make(chan string, 1)
			go func() {
				done <- string(ann.ask(mcp.MethodToolsCall, map[string]any{"name": "exec", "arguments": map[string]any{"server_name": "lib", "tool_name": "look"}}).Raw)
			}()
			var list []struct{ ID string }
			l.until("a person is asked", func() bool {
				return json.Unmarshal([]byte(l.api(http.MethodGet, "inbox", "")), &list) == nil && len(list) > 0
			})
			l.api(http.MethodPost, "inbox/"+list[0].ID, `{"action":"`+want.action+`"}`)
			if text := <-done; !strings.Contains(text, want.text) {
				t.Errorf("%s: %s", want.action, text)
			}
		}
		if n := l.asked.Load(); n != 1 {
			t.Errorf("the server was asked %d times", n)
		}
	})
}

// asking is a server on stdio that asks during each call, even if its client
// cannot be asked, and answers with the number of calls so far.
const asking = `calls=0
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$1" "$2"; }
	case $line in
	*'"server/discover"'*) say "$id" '"error":{"code":-32601,"message":"method not found"}' ;;
	*'"initialize"'*) say "$id" '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}' ;;
	*'"tools/list"'*) say "$id" '"result":{"tools":[{"name":"shrug","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
	*'"tools/call"'*)
		calls=$((calls+1)); call=$id
		say '"q"' '"method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object","properties":{}}}' ;;
	*'"q"'*) say "$call" '"result":{"content":[{"type":"text","text":"'"$calls"'"}]}' ;;
	esac
done`

// TestCacheOfQuestions checks that a result is not cached if a person was
// asked, or could not be asked.
func TestCacheOfQuestions(t *testing.T) {
	t.Run("code/cache question that no client can be asked", func(t *testing.T) {
		c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, map[string]any{"mode": "code", "mcpServers": map[string]any{
			"lib": map[string]any{"command": "sh", "args": []string{"-c", asking}, "share": "all", "tools": map[string]any{"shrug": map[string]any{"cache": "10m"}}},
		}}))}
		c.gw.Initialize(mcp.V2025_11_25, `{}`)
		for _, want := range []string{"1", "2"} {
			id := c.send("exec", map[string]any{"server_name": "lib", "tool_name": "shrug"}, "")
			if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != want {
				t.Errorf("it is %s, want %s", text, want)
			}
		}
	})
	t.Run("code/cache question", func(t *testing.T) {
		l := newCounter(t, nil)
		delete(l.file, "access")
		delete(l.file, "audit")
		c := &client{t: t, gw: mcptest.GatewayStdio(t, encode(t, l.file))}
		c.gw.Initialize(mcp.V2025_11_25, `{"elicitation":{}}`)
		for _, want := range []string{"1", "2"} {
			id := c.send("exec", map[string]any{"server_name": "lib", "tool_name": "question"}, "")
			q := c.gw.Request(mcp.MethodElicit)
			c.gw.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, q.ID))
			if text := read(t, c.gw.Answer(fmt.Sprintf("%q", id))).text(); text != want {
				t.Errorf("it is %s, want %s", text, want)
			}
		}
	})
}
