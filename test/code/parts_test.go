package code

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

const pictureSize = 6000

// library starts a server with large results of each kind, and returns its
// address.
func library(t *testing.T) string {
	t.Helper()
	type row struct {
		ID   int    `json:"id"`
		Body string `json:"body"`
	}
	var rows []row
	for i := range 200 {
		rows = append(rows, row{i, strings.Repeat("b", 40)})
	}
	table := map[string]any{"rows": rows}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	picture := base64.StdEncoding.EncodeToString(make([]byte, pictureSize))
	tool := func(name, more string, result map[string]any) mcpserver.Tool {
		return mcpserver.Tool{Definition: fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more),
			Run: func(context.Context, *mcpserver.Call) (any, error) { return result, nil }}
	}
	const output = `,"outputSchema":{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"]}`
	s := mcpserver.New("library")
	s.SetTools(
		tool("rows", output, map[string]any{"content": []any{map[string]any{"type": "text", "text": string(text)}}, "structuredContent": table}),
		tool("summary", output, map[string]any{"content": []any{map[string]any{"type": "text", "text": "200 rows"}}, "structuredContent": table}),
		tool("picture", "", map[string]any{"content": []any{
			map[string]any{"type": "text", "text": "before"},
			map[string]any{"type": "image", "data": picture, "mimeType": "image/png"},
			map[string]any{"type": "audio", "data": picture[:400], "mimeType": "audio/wav"},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "lib://blob", "blob": picture}},
		}}),
	)
	handler, done := s.HTTP("")
	web := httptest.NewServer(handler)
	t.Cleanup(func() { web.Close(); done() })
	return web.URL + "/mcp"
}

// branches returns a gateway with the library under several names, each with
// its own settings.
func branches(t *testing.T, top map[string]any, servers map[string]map[string]any, version string) *web {
	t.Helper()
	url := library(t)
	for _, s := range servers {
		s["url"] = url
	}
	top["mcpServers"] = servers
	w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, mcptest.Gateway(t, encode(t, top)).URL+"/mcp")}
	w.Initialize(version, `{}`)
	return w
}

// outputs returns the tools that are listed with outputSchema.
func (w *web) outputs() string {
	w.t.Helper()
	var list struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
	}
	m := w.ask(mcp.MethodToolsList, map[string]any{})
	if err := json.Unmarshal(m.Result, &list); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		if tool.OutputSchema != nil {
			names = append(names, tool.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestStructuredInPart(t *testing.T) {
	cut := map[string]any{"structured": "cut"}
	w := branches(t, map[string]any{"results": map[string]any{"limit": "4KB"}}, map[string]map[string]any{
		"whole": {}, "server": {"results": cut}, "tool": {"tools": map[string]any{"rows": map[string]any{"results": cut}}},
	}, mcp.V2025_11_25)
	t.Run("code/kept structured listed", func(t *testing.T) {
		if got := w.outputs(); got != "tool__summary whole__rows whole__summary" {
			t.Errorf("tools with outputSchema: %s", got)
		}
	})
	for _, tt := range []struct {
		tool       string
		structured bool
		texts      int // with a handle
	}{
		{"whole__rows", true, 1}, {"whole__summary", true, 0},
		{"server__rows", false, 1}, {"server__summary", false, 1},
		{"tool__rows", false, 1}, {"tool__summary", true, 0},
	} {
		t.Run("code/kept structured "+tt.tool, func(t *testing.T) {
			w.t = t
			r := w.call(tt.tool, nil)
			if (r.Structured != nil) != tt.structured {
				t.Errorf("structuredContent has %d bytes", len(r.Structured))
			}
			var uris []string
			for _, b := range r.Content {
				if uri := resultURI.FindString(b.Text); uri != "" {
					uris = append(uris, uri)
				}
			}
			if len(uris) != tt.texts {
				t.Fatalf("%d texts are in part: %s", len(uris), r.text())
			}
			for _, uri := range uris {
				if got := w.call("read_result", map[string]any{"result": uri, "jq": ".rows|length"}).text(); got != "200\n" {
					t.Errorf("the whole has %s rows", got)
				}
			}
		})
	}
	for name, top := range map[string]map[string]any{
		"file":     {"results": map[string]any{"limit": "4KB", "structured": "cut"}},
		"no limit": {"results": map[string]any{"structured": "cut"}},
	} {
		t.Run("code/kept structured "+name, func(t *testing.T) {
			w := branches(t, top, map[string]map[string]any{"lib": {}}, mcp.V2025_11_25)
			r, limited := w.call("lib__rows", nil), name == "file"
			if (w.outputs() == "") != limited || (r.Structured == nil) != limited {
				t.Errorf("listed with outputSchema: %q; structuredContent has %d bytes", w.outputs(), len(r.Structured))
			}
		})
	}
	t.Run("code/kept structured group", func(t *testing.T) {
		url := library(t)
		gw := mcptest.Gateway(t, encode(t, map[string]any{"schemas": map[string]any{"work": map[string]any{
			"results": map[string]any{"limit": "4KB", "structured": "cut"}, "mcpServers": map[string]any{"lib": map[string]any{"url": url}},
		}}}))
		w := &web{t: t, RawHTTP: mcptest.NewRawHTTP(t, gw.URL+"/api/work/mcp")}
		w.Initialize(mcp.V2025_11_25, `{}`)
		if r := w.call("lib__rows", nil); w.outputs() != "" || r.Structured != nil {
			t.Errorf("listed with outputSchema: %q; structuredContent has %d bytes", w.outputs(), len(r.Structured))
		}
	})
}

func TestBlobsInPart(t *testing.T) {
	servers := func() map[string]map[string]any {
		return map[string]map[string]any{"cut": {"results": map[string]any{"blobs": "4KB"}}, "all": {}}
	}
	w := branches(t, map[string]any{}, servers(), mcp.V2025_11_25)
	var uri string
	t.Run("code/kept blobs as links", func(t *testing.T) {
		r := w.call("cut__picture", nil)
		if len(r.Content) != 4 || r.Content[0].Text != "before" || r.Content[2].Type != "audio" {
			t.Fatalf("it is %+v", r)
		}
		for i, mime := range map[int]string{1: "image/png", 3: "application/octet-stream"} {
			if b := r.Content[i]; b.Type != "resource_link" || b.MimeType != mime || b.Size != pictureSize || !resultURI.MatchString(b.URI) {
				t.Errorf("block %d is %+v", i, b)
			}
		}
		uri = r.Content[1].URI
	})
	t.Run("code/kept blobs elsewhere", func(t *testing.T) {
		if r := w.call("all__picture", nil); len(r.Content) != 4 || r.Content[1].Type != "image" {
			t.Errorf("it is %+v", r)
		}
	})
	t.Run("code/kept blobs read", func(t *testing.T) {
		r := w.call("read_result", map[string]any{"result": uri})
		if len(r.Content) != 1 || r.Content[0].Type != "image" || len(r.Content[0].Data) != pictureSize/3*4 {
			t.Errorf("it is %+v", r)
		}
		if r := w.call("read_result", map[string]any{"result": uri, "lines": "1-2"}); !r.IsError || !strings.Contains(r.text(), "the result is image/png, not text") {
			t.Errorf("it is %s", r.text())
		}
		m := w.ask(mcp.MethodResourcesRead, map[string]any{"uri": uri})
		var contents struct {
			Contents []struct{ MimeType, Blob string }
		}
		if err := json.Unmarshal(m.Result, &contents); err != nil || len(contents.Contents) != 1 || contents.Contents[0].MimeType != "image/png" || len(contents.Contents[0].Blob) != pictureSize/3*4 {
			t.Errorf("it is %.300s, %v", m.Raw, err)
		}
	})
	t.Run("code/kept blobs before links", func(t *testing.T) {
		w := branches(t, map[string]any{}, servers(), mcp.V2025_03_26)
		r := w.call("cut__picture", nil)
		if b := r.Content[1]; b.Type != "text" || !strings.Contains(b.Text, "image/png of 6,000 bytes left out") || !resultURI.MatchString(b.Text) {
			t.Errorf("it is %+v", b)
		}
	})
}

// TestKeptTemplate checks that kept results can be read with a template, and
// that none of them is listed.
func TestKeptTemplate(t *testing.T) {
	const template = `result://{id}{?lines,grep,jq}`
	for name, tt := range map[string]struct {
		more   string
		listed bool
	}{
		"limit": {`"results":{"limit":"4KB"},`, true}, "blobs": {`"results":{"blobs":"4KB"},`, true}, "off": {"", false},
		"compact": {`"mode":"compact","results":{"limit":"4KB"},`, true}, "code": {`"mode":"code",`, true}, "compact off": {`"mode":"compact",`, false},
	} {
		t.Run("code/kept template "+name, func(t *testing.T) {
			c := start(t, tt.more, `{}`)
			m := c.gw.Ask(`{"jsonrpc":"2.0","id":"t","method":"resources/templates/list"}`)
			if strings.Contains(string(m.Result), template) != tt.listed {
				t.Errorf("the templates are %s", m.Raw)
			}
		})
	}
	t.Run("code/kept template read", func(t *testing.T) {
		c := start(t, `"results":{"limit":"4KB"},`, `{}`)
		uri := resultURI.FindString(c.call("demo__echo", map[string]any{"message": large()}).text())
		for query, want := range map[string]string{
			"?lines=3-4": `line 3 of the text\nline 4 of the text\n"`, "?grep=%5Eline%2077%20": `"77: line 77 of the text\n"`, "?lines=9-3": "is not a range", "?jq=.%5B": "jq: ",
		} {
			m := c.gw.Ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%s","method":"resources/read","params":{"uri":%q}}`, query, uri+query))
			if !strings.Contains(m.Raw, want) {
				t.Errorf("%s is %s, want %s", query, m.Raw, want)
			}
		}
		if m := c.gw.Ask(`{"jsonrpc":"2.0","id":"l","method":"resources/list"}`); strings.Contains(m.Raw, "result://") {
			t.Errorf("results are listed: %s", m.Raw)
		}
	})
}
