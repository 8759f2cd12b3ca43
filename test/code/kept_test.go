package code

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

// A web is a session of a legacy client over HTTP.
type web struct {
	t *testing.T
	*mcptest.RawHTTP
	next int
}

func (w *web) ask(method string, params any) mcptest.Message {
	w.t.Helper()
	w.next++
	raw, err := json.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, w.next, method, raw)).Answer(w.t)
}

func (w *web) call(tool string, arguments map[string]any) result {
	w.t.Helper()
	return read(w.t, w.ask(mcp.MethodToolsCall, map[string]any{"name": tool, "arguments": arguments}))
}

var resultURI = regexp.MustCompile(`result://[0-9a-f]{32}`)

// town returns a session of each key at a gateway over HTTP.
func town(t *testing.T, more string, grants map[string][]string, path string) map[string]*web {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.json")
	store, err := access.OpenKeys(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{}
	for name, scopes := range grants {
		grant, err := access.ParseScopes(scopes)
		if err != nil {
			t.Fatal(err)
		}
		if secrets[name], _, err = store.Create(name, grant, nil); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	gw := mcptest.Gateway(t, settings(t, fmt.Sprintf(`"access":{"keys":%s},%s`, keys, more)))
	all := map[string]*web{}
	for name, secret := range secrets {
		w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, gw.URL+path)}
		w.Header.Set("Authorization", "Bearer "+secret)
		w.Initialize(mcp.V2025_11_25, `{}`)
		all[name] = w
	}
	return all
}

// large returns a text of many lines.
func large() string {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "line %d of the text\n", i+1)
	}
	return b.String()
}

func TestKeptResults(t *testing.T) {
	whole := large()
	all := town(t, `"results":{"limit":"4KB","head":"1KB","tail":"512B"},`, map[string][]string{"ann": nil, "bob": nil, "wide": {"results:10MB"}, "code": {"mode:code"}}, "/mcp")
	ann, bob := all["ann"], all["bob"]
	r := ann.call("demo__echo", map[string]any{"message": whole})
	uri := resultURI.FindString(r.text())
	t.Run("code/kept in part", func(t *testing.T) {
		text := r.Content[0].Text
		if uri == "" || len(text) > 2500 || !strings.HasPrefix(text, "line 1 of the text\n") || !strings.HasSuffix(text, "line 2000 of the text\n") || !strings.Contains(text, "Shape: 2000 lines") || !strings.Contains(text, "; use read_result(result, ") {
			t.Errorf("it is %.3000s", text)
		}
		if len(r.Content) != 2 || r.Content[1].Type != "resource_link" || r.Content[1].URI != uri || r.Content[1].Size != len(whole) {
			t.Errorf("the link is %+v", r.Content[1:])
		}
	})
	t.Run("code/kept below the limit", func(t *testing.T) {
		if r := ann.call("demo__echo", map[string]any{"message": "small"}); r.text() != "small" || len(r.Content) != 1 {
			t.Errorf("it is %+v", r)
		}
	})
	t.Run("code/kept all by lines", func(t *testing.T) {
		var got strings.Builder
		for lines := "1-"; lines != ""; {
			text := ann.call("read_result", map[string]any{"result": uri, "lines": lines}).text()
			part, rest, more := strings.Cut(text, "\n… go on with lines=")
			got.WriteString(part)
			if lines = ""; more {
				lines, _, _ = strings.Cut(rest, " ")
			}
		}
		if got.String() != whole {
			t.Errorf("%d of %d bytes came back", got.Len(), len(whole))
		}
	})
	t.Run("code/kept grep", func(t *testing.T) {
		if text := ann.call("read_result", map[string]any{"result": uri, "grep": "^line 77 "}).text(); text != "77: line 77 of the text\n" {
			t.Errorf("it is %q", text)
		}
	})
	t.Run("code/kept resource", func(t *testing.T) {
		m := ann.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri + "?grep=" + url.QueryEscape("^line 77 ")})
		if m.Error != nil || !strings.Contains(string(m.Result), "77: line 77 of the text") {
			t.Errorf("it is %s", m.Raw)
		}
	})
	t.Run("code/kept foreign", func(t *testing.T) {
		if r := bob.call("read_result", map[string]any{"result": uri}); !r.IsError || !strings.Contains(r.text(), "no such result") {
			t.Errorf("another key reads it: %s", r.text())
		}
		if m := bob.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri}); m.Error == nil {
			t.Errorf("another key reads it: %s", m.Raw)
		}
	})
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"malformed": {map[string]any{"result": "result://zz"}, "is not a result:// URI"},
		"range":     {map[string]any{"result": uri, "lines": "9-3"}, "is not a range"},
		"offset":    {map[string]any{"result": uri, "offset": 1 << 30}, "beyond the end"},
		"jq":        {map[string]any{"result": uri, "jq": ".["}, "jq: "},
		"a number":  {map[string]any{"result": uri, "lines": 5}, "lines must be text, such as \"10-20\""},
		"grep":      {map[string]any{"result": uri, "grep": []string{"x"}}, "grep must be text"},
		"fraction":  {map[string]any{"result": uri, "offset": 1.5}, "offset must be a whole number"},
		"nothing":   {map[string]any{}, "result is required"},
	} {
		t.Run("code/kept bad "+name, func(t *testing.T) {
			if r := ann.call("read_result", tt.args); !r.IsError || !strings.Contains(r.text(), tt.want) {
				t.Errorf("it is %q", r.text())
			}
		})
	}
	t.Run("code/kept by key", func(t *testing.T) {
		if r := all["wide"].call("demo__echo", map[string]any{"message": whole}); r.text() != whole {
			t.Errorf("a wider limit of the key does not count: %d bytes", len(r.text()))
		}
	})
	t.Run("code/kept in scripts", func(t *testing.T) {
		r := all["code"].call("run", map[string]any{"code": fmt.Sprintf("const t = await tools.demo.echo({message: 'line\\n'.repeat(%d)}); return t.length", 10_000)})
		if r.text() != "50000" {
			t.Errorf("a script gets a part: %s", r.text())
		}
		r = all["code"].call("run", map[string]any{"code": "return Array.from({length: 3000}, (_, i) => ({id: i}))"})
		uri := resultURI.FindString(r.text())
		if uri == "" || len(r.text()) > 9000 || !strings.Contains(r.text(), "Shape: 3000 × {id}") {
			t.Fatalf("the value of a script: %.300s", r.text())
		}
		if r := all["code"].call("run", map[string]any{"code": "return (await kept(" + fmt.Sprintf("%q", uri) + ")).length"}); r.text() != "3000" {
			t.Errorf("kept is %s", r.text())
		}
		if r := all["code"].call("read", map[string]any{"result": uri, "jq": ".[7].id"}); r.text() != "7\n" {
			t.Errorf("read is %q", r.text())
		}
		if r := all["code"].call("exec", map[string]any{"server_name": "demo", "tool_name": "echo", "arguments": map[string]any{"message": whole}}); resultURI.FindString(r.text()) == "" || !strings.Contains(r.text(), "; use read(result, ") {
			t.Errorf("exec passes %d bytes", len(r.text()))
		}
	})
}

// TestWholeResults checks that results are not cut without a limit, and at the
// endpoint of a single server.
func TestWholeResults(t *testing.T) {
	whole := large()
	for name, tt := range map[string]struct{ more, path, tool string }{
		"off":      {"", "/mcp", "demo__echo"},
		"endpoint": {`"results":{"limit":"1KB"},`, "/s/demo/mcp", "echo"},
	} {
		t.Run("code/kept not "+name, func(t *testing.T) {
			ann := town(t, tt.more, map[string][]string{"ann": nil}, tt.path)["ann"]
			if r := ann.call(tt.tool, map[string]any{"message": whole}); r.text() != whole {
				t.Errorf("%d of %d bytes came", len(r.text()), len(whole))
			}
			if m := ann.ask(mcp.MethodToolsList, map[string]any{}); strings.Contains(m.Raw, "read_result") {
				t.Error("read_result is listed")
			}
		})
	}
}

// TestKeptExpires checks that an expired result is reported to its owner, with
// advice.
func TestKeptExpires(t *testing.T) {
	c := town(t, `"results":{"limit":"4KB","keep":"1s"},`, map[string][]string{"ann": {"schema:default"}}, "/mcp")["ann"]
	uri := resultURI.FindString(c.call("demo__echo", map[string]any{"message": large()}).text())
	if uri == "" {
		t.Fatal("nothing was kept")
	}
	c.call("demo__long_task", map[string]any{"seconds": 2}) // longer than the result is kept
	const want = "the result has expired: it was not read for 1s; call the tool again, or keep results longer with results.keep"
	t.Run("code/kept expires tool", func(t *testing.T) {
		if r := c.call("read_result", map[string]any{"result": uri}); !r.IsError || !strings.Contains(r.text(), want) {
			t.Errorf("it is %q", r.text())
		}
	})
	t.Run("code/kept expires resource", func(t *testing.T) {
		for _, query := range []string{"", "?lines=1-2"} {
			m := c.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri + query})
			if m.Error == nil || !strings.Contains(string(m.Raw), want) {
				t.Errorf("it is %s", m.Raw)
			}
		}
	})
}

// TestNoRoom checks that a result that cannot be kept is passed whole: only
// kept results have a handle.
func TestNoRoom(t *testing.T) {
	t.Run("code/kept no room", func(t *testing.T) {
		whole := strings.Repeat(large(), 10)
		c := start(t, `"results":{"limit":"4KB","disk":0},`, `{}`)
		if r := c.call("demo__echo", map[string]any{"message": whole}); r.text() != whole {
			t.Errorf("%d of %d bytes came", len(r.text()), len(whole))
		}
	})
}
