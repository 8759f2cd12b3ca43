package code

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

const sumCode = `let sum = 0; for (let i = 1; i <= args.n; i++) ({sum} = await tools.demo.add({a: sum, b: i})); console.log('done'); return {sum}`

// stored are scripts of a configuration.
var stored = map[string]any{
	"sum": map[string]any{"description": "Add the numbers up to n.", "code": sumCode, "readOnly": true,
		"arguments": map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer", "maximum": 50}}, "required": []string{"n"}}},
	"twice":   map[string]any{"code": `const one = await tools.reports.sum({n: 3}); return [one.sum, (await tools.reports.sum({n: 4})).sum]`},
	"thrice":  map[string]any{"code": `try { return await tools.reports.twice({}) } catch (e) { return e.message }`},
	"long":    map[string]any{"code": `return 'x'.repeat(20000)`},
	"measure": map[string]any{"code": `return (await tools.reports.long({})).length`},
	"endless": map[string]any{"code": `for (;;) {}`, "timeout": "300ms"},
	"log":     map[string]any{"code": `return await tools.demo.log_something({})`, "readOnly": true},
	"logs":    map[string]any{"code": `return await tools.demo.log_something({})`},
	"claims":  map[string]any{"code": `return await tools.reports.logs({})`, "readOnly": true},
	"wait":    map[string]any{"code": `await tools.demo.long_task({seconds: 60, steps: 600})`},
}

// A shop is a gateway over HTTP with its own scripts.
type shop struct {
	t                      *testing.T
	url, audit, path, file string // file has the keys
	keys                   map[string]string
}

func newShop(t *testing.T, scripts map[string]any, grants map[string][]string) *shop {
	t.Helper()
	return openShop(t, map[string]any{"mcpServers": map[string]any{"demo": shell(t, ""), "reports": map[string]any{"scripts": scripts}}}, grants)
}

// openShop starts a shop with settings that have the server reports.
func openShop(t *testing.T, settings map[string]any, grants map[string][]string) *shop {
	t.Helper()
	dir := t.TempDir()
	s := &shop{t: t, keys: map[string]string{}, audit: filepath.Join(dir, "audit.jsonl"), file: filepath.Join(dir, "keys.json")}
	store, err := access.OpenKeys(s.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, scopes := range grants {
		grant, err := access.ParseScopes(scopes)
		if err != nil {
			t.Fatal(err)
		}
		if s.keys[name], _, err = store.Create(name, grant, nil); err != nil {
			t.Fatal(err)
		}
	}
	settings["access"], settings["audit"] = map[string]any{"keys": s.file}, map[string]any{"file": s.audit}
	s.path = mcptest.WriteConfig(t, encode(t, settings))
	approve(t, s.path)
	s.url = mcptest.Start(t, mcptest.Product(t, "http", "--mcp-config", s.path, "--port", "0")).Listening()
	return s
}

// approve approves the scripts of a file, as a person does.
func approve(t *testing.T, path string) {
	t.Helper()
	cfg, err := config.Load(config.LoadOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	reports := cfg.Schemas[0].Server("reports")
	if err := cfg.Approvals().Approve(reports.ID(), reports.ShownHash()); err != nil {
		t.Fatal(err)
	}
}

// open opens a session with a key.
func (s *shop) open(as, path string) *web {
	s.t.Helper()
	w := &web{t: s.t, RawHTTP: mcptest.NewRawHTTP(s.t, s.url+path)}
	w.Header.Set("Authorization", "Bearer "+s.keys[as])
	w.Initialize(mcp.V2025_11_25, `{}`)
	return w
}

func (w *web) wants(t *testing.T, tool string, arguments map[string]any, want string) {
	t.Helper()
	if got := w.call(tool, arguments).text(); !strings.Contains(got, want) {
		t.Errorf("%s(%v) is %q, want %q", tool, arguments, got, want)
	}
}

// TestStoredScripts checks that scripts of the configuration are tools in every
// mode.
func TestStoredScripts(t *testing.T) {
	s := newShop(t, stored, map[string][]string{"full": nil, "compact": {"mode:compact"}, "search": {"mode:search"}, "code": {"mode:code"},
		"reader": {"readonly"}, "alone": {"server:reports"}, "stranger": {"server:demo"}})
	w := s.open("full", "/mcp")
	t.Run("code/stored listed", func(t *testing.T) {
		var list struct {
			Tools []struct {
				Name, Description string
				InputSchema       struct{ Required []string }
				Meta              map[string]struct{ SHA256 string } `json:"_meta"`
			}
		}
		if m := w.ask(mcp.MethodToolsList, map[string]any{}); json.Unmarshal(m.Result, &list) != nil {
			t.Fatal(m.Raw)
		}
		sum := sha256.Sum256([]byte(sumCode))
		for _, tool := range list.Tools {
			if tool.Name == "reports__sum" && strings.HasSuffix(tool.Description, "Add the numbers up to n.") && len(tool.InputSchema.Required) == 1 &&
				tool.Meta["mcp-all-in-one/script"].SHA256 == hex.EncodeToString(sum[:]) {
				return
			}
		}
		t.Errorf("the tools are %+v", list.Tools)
	})
	t.Run("code/stored full", func(t *testing.T) {
		w.wants(t, "reports__sum", map[string]any{"n": 4}, "{\"sum\":10}\nLog:\ndone")
		w.wants(t, "reports__sum", map[string]any{"n": "4"}, "expected integer")
		w.wants(t, "reports__sum", map[string]any{"n": 51}, "n")
		w.wants(t, "reports__sum", nil, "Missing required")
		w.wants(t, "reports__twice", map[string]any{"n": 1}, "n") // it takes no arguments
		w.wants(t, "reports__endless", nil, "300ms")
		w.wants(t, "reports__long", nil, "result://")
	})
	t.Run("code/stored inner", func(t *testing.T) {
		w.wants(t, "reports__twice", nil, "[6,10]")
		w.wants(t, "reports__measure", nil, "20000")
		w.wants(t, "reports__thrice", nil, "may call no further script")
	})
	t.Run("code/stored endpoint", func(t *testing.T) {
		s.open("full", "/s/reports/mcp").wants(t, "sum", map[string]any{"n": 4}, `{"sum":10}`)
	})
	for _, mode := range []string{"compact", "search", "code"} {
		t.Run("code/stored "+mode, func(t *testing.T) {
			w := s.open(mode, "/mcp")
			w.wants(t, "inspect", map[string]any{"server_name": "reports", "tool_name": "sum"}, "Add the numbers up to n.")
			w.wants(t, "exec", map[string]any{"server_name": "reports", "tool_name": "sum", "arguments": map[string]any{"n": 4}}, `{"sum":10}`)
		})
	}
	t.Run("code/stored run", func(t *testing.T) {
		w := s.open("code", "/mcp")
		w.wants(t, "run", map[string]any{"code": `return (await tools.reports.sum({n: 5})).sum`}, "15")
		w.wants(t, "run", map[string]any{"code": `return await tools.reports.twice({})`}, "may call no further script")
		w.wants(t, "run", map[string]any{"code": `try { await tools.reports.sum({n: 'x'}) } catch (e) { return e.message }`}, "expected integer")
	})
	t.Run("code/stored keys", func(t *testing.T) {
		// Its calls are authorized with the key of its caller.
		s.open("reader", "/mcp").wants(t, "reports__log", nil, "Tool 'log_something' not found on server 'demo'")
		s.open("alone", "/mcp").wants(t, "reports__sum", map[string]any{"n": 1}, "Server 'demo' not found")
		for key, tool := range map[string]string{"stranger": "reports__sum", "reader": "reports__twice"} {
			if m := s.open(key, "/mcp").ask(mcp.MethodToolsCall, map[string]any{"name": tool, "arguments": map[string]any{}}); !strings.Contains(m.Raw, "not found") {
				t.Errorf("%s calls %s: %s", key, tool, m.Raw)
			}
		}
	})
	t.Run("code/stored read-only", func(t *testing.T) {
		const refused = "does not say that it is read-only"
		w.wants(t, "reports__logs", nil, "logged")
		w.wants(t, "reports__log", nil, refused)
		w.wants(t, "reports__claims", nil, refused)
		s.open("full", "/s/reports/mcp").wants(t, "log", nil, refused)
		s.open("compact", "/mcp").wants(t, "exec", map[string]any{"server_name": "reports", "tool_name": "log"}, refused)
		s.open("code", "/mcp").wants(t, "run", map[string]any{"code": `try { await tools.reports.log({}) } catch (e) { return [e.message, await tools.demo.log_something({})] }`}, refused)
		// What a script may call does not depend on the script that calls it.
		s.open("code", "/mcp").wants(t, "run", map[string]any{"code": `await tools.reports.sum({n: 1}); return await tools.demo.log_something({})`}, "logged")
	})
	t.Run("code/stored audit", func(t *testing.T) {
		sum := sha256.Sum256([]byte(sumCode))
		want := []string{`"server":"reports"`, `"script":"` + hex.EncodeToString(sum[:]) + `"`}
		for end := false; !end; {
			raw, err := os.ReadFile(s.audit)
			if err != nil {
				t.Fatal(err)
			}
			end = strings.Contains(string(raw), want[0]) && strings.Contains(string(raw), want[1]) && strings.Contains(string(raw), `"door":"run"`)
			if t.Context().Err() != nil {
				t.Fatalf("the audit trail is %s", raw)
			}
		}
	})
}

// TestStoredQuestion checks that a question of a stored script waits for the
// next request of a modern client.
func TestStoredQuestion(t *testing.T) {
	s := newShop(t, map[string]any{"which": map[string]any{"code": `return (await ask('Which?', {type: 'object', properties: {x: {type: 'string'}}})).x + args.tail`,
		"arguments": map[string]any{"type": "object", "properties": map[string]any{"tail": map[string]any{"type": "string"}}}}}, map[string][]string{"ann": nil, "bob": nil})
	ask := func(as, tail, more string) mcptest.Message {
		t.Helper()
		params := fmt.Sprintf(`{"name":"reports__which","arguments":{"tail":%q}%s}`, tail, more)
		return s.modern(as, mcp.MethodToolsCall, "reports__which", params, `{"elicitation":{}}`)
	}
	var r struct {
		ResultType, RequestState string
		InputRequests            map[string]any
		Content                  []struct{ Text string }
	}
	if m := ask("ann", "!", ""); json.Unmarshal(m.Result, &r) != nil || r.ResultType != "input_required" || len(r.InputRequests) != 1 {
		t.Fatalf("it does not ask: %s", m.Raw)
	}
	var more string
	for key := range r.InputRequests {
		more = fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"x":"this"}}}`, r.RequestState, key)
	}
	if m := ask("bob", "!", more); m.Error == nil {
		t.Errorf("another key resumes it: %s", m.Raw)
	}
	if m := ask("ann", "?", more); m.Error == nil {
		t.Errorf("other arguments resume it: %s", m.Raw)
	}
	if m := ask("ann", "!", more); json.Unmarshal(m.Result, &r) != nil || len(r.Content) == 0 || r.Content[0].Text != "this!" {
		t.Errorf("it is %s", m.Raw)
	}
}

// modern sends one request of a modern client.
func (s *shop) modern(as, method, name, params, capabilities string) mcptest.Message {
	s.t.Helper()
	h, body := s.modernRequest(as, method, name, params, capabilities)
	return h.Post(body).Answer(s.t)
}

// modernRequest returns one request of a modern client: its headers and its body.
func (s *shop) modernRequest(as, method, name, params, capabilities string) (h *mcptest.RawHTTP, body string) {
	h = mcptest.NewRawHTTP(s.t, s.url+"/mcp")
	h.Header.Set("Authorization", "Bearer "+s.keys[as])
	h.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
	h.Header.Set("Mcp-Method", method)
	if name != "" {
		h.Header.Set("Mcp-Name", name)
	}
	meta := fmt.Sprintf(`{%q:%q,%q:%s,%q:{"name":"t","version":"1"}}`, mcp.MetaVersion, mcp.V2026_07_28, mcp.MetaCapabilities, capabilities, mcp.MetaClientInfo)
	return h, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, jsonrpc.Set([]byte(params), []byte(meta), "_meta"))
}

// reload makes the gateway reload its files.
func (s *shop) reload() {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/api/v1/reload", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.keys["chief"])
	req.Header.Set("X-Mcp-Aio", "1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("reload: %v %v", resp, err)
	}
	resp.Body.Close()
}

// TestStoredChanges checks that a changed script is not listed until a person
// has approved it.
func TestStoredChanges(t *testing.T) {
	s := newShop(t, map[string]any{"say": map[string]any{"file": "say.js"}}, map[string][]string{"ann": nil, "chief": {"admin"}})
	write := func(code string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(s.path), "say.js"), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("return 'first'")
	approve(t, s.path)
	s.reload()
	w := s.open("ann", "/mcp")
	w.wants(t, "reports__say", nil, "first")
	write("return 'second'")
	w.wants(t, "reports__say", nil, "first") // the version that was read and approved
	s.reload()
	if m := w.ask(mcp.MethodToolsCall, map[string]any{"name": "reports__say"}); !strings.Contains(m.Raw, "not found") {
		t.Errorf("a script that nobody approved: %s", m.Raw)
	}
	approve(t, s.path)
	s.reload()
	w.wants(t, "reports__say", nil, "second")
}
