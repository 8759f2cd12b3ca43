package cluster

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

var keptURI = regexp.MustCompile(`result://[\w.~-]+`)

// modernAsk makes a request of a modern client at an address.
func modernAsk(t *testing.T, url, key, method, name string, params map[string]any) mcptest.Message {
	t.Helper()
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Authorization", "Bearer "+key)
	c.Header.Set("Mcp-Protocol-Version", modern)
	c.Header.Set("Mcp-Method", method)
	c.Header.Set("Mcp-Name", name)
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	return c.Post(request(t, method, params)).Answer(t)
}

// legacyAsk makes a request in a new session at a replica.
func legacyAsk(t *testing.T, url, key, method, _ string, params map[string]any) mcptest.Message {
	t.Helper()
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Authorization", "Bearer "+key)
	if m := c.Initialize(legacy, `{}`); m.Error != nil {
		t.Fatalf("initialize: %+v", m.Error)
	}
	return c.Post(request(t, method, params)).Answer(t)
}

func request(t *testing.T, method string, params map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 5, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eras are the ways to ask.
var eras = map[string]func(t *testing.T, url, key, method, name string, params map[string]any) mcptest.Message{"modern": modernAsk, "legacy": legacyAsk}

// TestKept checks that every replica reads a result that another one has kept,
// for the key that got it.
func TestKept(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.json")
	c := start(t, 3, options{members: true, access: fmt.Sprintf(`"mode":"compact","code":true,"results":{"limit":"2KB","head":"20B","tail":"20B"},"access":{"enabled":true,"keys":%q},`, keys)})
	mine := strings.TrimSpace(c.replicas[0].must("key", "create", "mine"))
	theirs := strings.TrimSpace(c.replicas[0].must("key", "create", "theirs"))
	for _, r := range c.replicas {
		enters(t, r, mine)
		enters(t, r, theirs)
	}
	// cut calls a tool at the first replica and returns where its result is kept.
	cut := func(t *testing.T, ask func(t *testing.T, url, key, method, name string, params map[string]any) mcptest.Message, size int) string {
		t.Helper()
		m := ask(t, c.replicas[0].url(), mine, "tools/call", "exec", map[string]any{"name": "exec",
			"arguments": map[string]any{"server_name": "back", "tool_name": "large", "arguments": map[string]any{"token": strings.Repeat("a line\n", 9), "size": size}}})
		uri := keptURI.FindString(string(m.Result))
		if uri == "" {
			t.Fatalf("nothing is kept: %.400s", m.Raw)
		}
		return uri
	}
	read := func(uri string) map[string]any {
		return map[string]any{"name": "read", "arguments": map[string]any{"result": uri, "lines": "2-3"}}
	}
	run := func(uri string) map[string]any {
		return map[string]any{"name": "run", "arguments": map[string]any{"code": fmt.Sprintf("const all = await kept(%q); return all.length", uri)}}
	}
	for era, ask := range eras {
		t.Run("cluster/kept/"+era, func(t *testing.T) {
			for _, size := range []int{4_000, 300_000} { // in memory, on disk
				uri := cut(t, ask, size)
				for _, r := range c.replicas {
					wants(t, ask(t, r.url(), mine, "tools/call", "read", read(uri)), `a line\na line`)
					wants(t, ask(t, r.url(), mine, "resources/read", uri+"?lines=2-3", map[string]any{"uri": uri + "?lines=2-3"}), `a line\na line`)
					wants(t, ask(t, r.url(), mine, "tools/call", "run", run(uri)), fmt.Sprint(63+size))
				}
			}
		})
	}
	t.Run("cluster/kept/of others", func(t *testing.T) {
		uri := cut(t, modernAsk, 4_000)
		unknown := "result://" + strings.Repeat("0", 32)
		id, mark, _ := strings.Cut(uri, "~")
		for era, ask := range eras {
			for _, r := range c.replicas {
				say := func(key, uri string) string {
					return ask(t, r.url(), key, "tools/call", "read", read(uri)).Raw
				}
				want := say(mine, unknown)
				if !strings.Contains(want, "no such result") {
					t.Errorf("an unknown id at %s: %s", r.name, want)
				}
				for what, got := range map[string]string{
					"of another key": say(theirs, uri), "another id": say(mine, unknown+"~"+mark), "a forged mark": say(mine, id+"~"+mark[:len(mark)-3]+"AAA"),
					"no mark": say(mine, unknown+"~aio1."),
				} {
					if got != want {
						t.Errorf("%s, %s at %s: %.300s, want %s", what, era, r.name, got, want)
					}
				}
			}
		}
	})
	t.Run("cluster/kept/owner died", func(t *testing.T) {
		uri := cut(t, modernAsk, 4_000)
		c.replicas[0].kill()
		for era, ask := range eras {
			m := ask(t, c.replicas[1].url(), mine, "tools/call", "read", read(uri))
			if m.Error != nil || !strings.Contains(string(m.Result), `"isError":true`) || !strings.Contains(string(m.Result), "call the tool again") || !strings.Contains(string(m.Result), "replica a") {
				t.Errorf("%s: %s", era, m.Raw)
			}
			if m := ask(t, c.replicas[1].url(), mine, "resources/read", uri, map[string]any{"uri": uri}); m.Error == nil || !strings.Contains(m.Raw, "call the tool again") {
				t.Errorf("%s: %s", era, m.Raw)
			}
		}
		c.replicas[0].start()
		c.replicas[0].ready()
		wants(t, modernAsk(t, c.replicas[1].url(), mine, "tools/call", "read", read(uri)), "call the tool again")
		wants(t, modernAsk(t, c.replicas[0].url(), mine, "tools/call", "read", read(uri)), "call the tool again")
	})
}
