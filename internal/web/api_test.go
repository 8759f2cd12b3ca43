package web

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/bench"
)

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Description string
		}
	}
	must.Parse(t, openAPI, &doc)
	var described, served []string
	for path, ops := range doc.Paths {
		if strings.HasPrefix(path, "/add/") {
			continue // package add serves it
		}
		for method, op := range ops {
			described = append(described, strings.ToUpper(method)+" "+path+" "+op.Description)
		}
	}
	for _, r := range (&Handler{}).table() {
		scope := r.Scope
		if scope == "" {
			scope = "none"
		}
		served = append(served, r.Method+" /"+r.Pattern+" scope: "+scope)
	}
	slices.Sort(described)
	slices.Sort(served)
	if diff := cmp.Diff(described, served); diff != "" {
		t.Error(diff)
	}
}

func TestServers(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	var list []Server
	c.get("servers", &list)
	if len(list) != 3 || list[1].Name != "demo" {
		t.Fatalf("servers = %+v", list)
	}
	if body := c.want(200, "GET", "servers/default/demo", nil); strings.Contains(string(body), "s3cret") {
		t.Errorf("a secret was read back: %s", body)
	}
	c.want(404, "GET", "servers/default/nobody", nil)

	entry := map[string]any{"command": "npx", "args": []string{"-y", "it's"}}
	var refused api.Refusal
	must.Parse(t, c.want(409, "PUT", "servers/default/new", map[string]any{"entry": entry}), &refused)
	if refused.Error.Run != `npx -y 'it'\''s'` {
		t.Errorf("run = %s", refused.Error.Run)
	}
	c.want(204, "PUT", "servers/default/new", map[string]any{"entry": entry, "confirm": refused.Error.Run})
	c.want(204, "PUT", "servers/default/new", map[string]any{"entry": entry}) // the same command needs no second confirmation
	c.want(422, "PUT", "servers/default/bad", map[string]any{"entry": map[string]any{}})

	c.want(200, "POST", "servers/default/new/ping", nil)
	c.want(204, "POST", "servers/default/new/disable", nil)
	c.get("servers", &list)
	if i := slices.IndexFunc(list, func(s Server) bool { return s.Name == "new" }); list[i].State != "disabled" {
		t.Errorf("state = %q", list[i].State)
	}
	c.want(404, "POST", "servers/default/new/explode", nil)

	var removed struct{ Undo string }
	must.Parse(t, c.want(200, "DELETE", "servers/default/demo", nil), &removed)
	c.want(404, "GET", "servers/default/demo", nil)
	c.want(204, "POST", "undo/"+removed.Undo, nil)
	c.want(200, "GET", "servers/default/demo", nil)
	c.want(410, "POST", "undo/"+removed.Undo, nil)
}

func TestTraffic(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	detach := c.opt.Traffic.Attach()
	defer detach()
	for i := range 5 {
		root := c.opt.Traffic.Begin(&traffic.Call{Hop: traffic.HopClient, Client: "cursor", Method: "tools/call", Name: "demo__echo"}, []byte(`{"n":1}`))
		child := c.opt.Traffic.Begin(&traffic.Call{Hop: traffic.HopServer, Parent: root, Server: "demo", Method: "tools/call", Name: "echo"}, []byte(`{"n":1}`))
		body := []byte(strings.Repeat("大", 3000*i))
		for _, id := range []uint64{child, root} {
			c.opt.Traffic.End(id, &traffic.Outcome{Status: traffic.StatusOK, Total: time.Duration(i) * time.Second}, body)
		}
	}
	var list trafficBody
	c.get("traffic?q=hop:server+dur:%3E1500ms&limit=2", &list)
	if len(list.Calls) != 2 || !list.More || list.Calls[0].ID != 10 {
		t.Errorf("traffic = %+v", list)
	}
	c.want(400, "GET", "traffic?q=colour:red", nil)
	var entry entryBody
	c.get("traffic/10", &entry)
	if len(entry.Related) != 2 || entry.Related[0].ID != 9 {
		t.Errorf("entry = %+v", entry)
	}
	c.want(404, "GET", "traffic/99", nil)

	var part sliceBody
	c.get("traffic/10/body?side=res&offset=1&limit=10", &part)
	if part.Text != "大大" || part.Offset != 3 || part.Size != 36000 || !part.Whole {
		t.Errorf("slice = %+v", part)
	}
	c.get("traffic/10/body?side=res&limit=0&find=%E5%A4%A7", &part)
	if len(part.Found) != 1000 || part.Found[1] != 3 {
		t.Errorf("found %d", len(part.Found))
	}
	lines := strings.Split(strings.TrimSpace(string(c.want(200, "GET", "traffic/export?q=hop:client", nil))), "\n")
	if len(lines) != 5 || !strings.Contains(lines[0], `"request":{"n":1}`) {
		t.Errorf("export = %.200q", lines)
	}
	c.want(200, "GET", "overview", nil)
	c.opt.Traffic.AddLine(traffic.Line{Server: "demo", Source: "stderr", Text: "hello"})
	var logs []traffic.Line
	c.get("logs/demo", &logs)
	if len(logs) != 1 {
		t.Errorf("logs = %+v", logs)
	}
}

// events reads an event stream until f returns true.
func (c *console) events(query, last string, f func(event, data, id string) bool) {
	c.Helper()
	resp := c.send("GET", "events?"+query, nil, "Last-Event-ID", last)
	defer resp.Body.Close()
	var event, data, id string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			event = value
		case "data":
			data = value
		case "id":
			id = value
		case "":
			if event != "" && f(event, data, id) {
				return
			}
			event = ""
		}
	}
	c.Fatalf("the stream ended: %v", lines.Err())
}

func TestEvents(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	var seen []string
	var last string
	c.events("topics=servers,traffic", "", func(event, data, id string) bool {
		seen, last = append(seen, event), id
		if event == "hello" {
			if !c.opt.Traffic.Attached() {
				t.Error("a console is open and bodies are not kept")
			}
			c.want(204, "POST", "servers/default/demo/restart", nil)
			return false
		}
		if event == "servers" && len(seen) == 3 { // snapshots come first, then changes
			c.opt.Traffic.Add(&traffic.Call{Hop: traffic.HopClient, Method: "ping"}, nil, nil)
		}
		return event == "traffic"
	})
	if diff := cmp.Diff([]string{"hello", "servers", "servers", "traffic"}, seen); diff != "" {
		t.Error(diff)
	}
	t.Run("resume", func(t *testing.T) {
		c.opt.Traffic.Add(&traffic.Call{Hop: traffic.HopClient, Method: "resumed"}, nil, nil)
		c.events("topics=traffic", last, func(event, data, _ string) bool {
			return event == "traffic" && strings.Contains(data, "resumed") && !strings.Contains(data, "ping")
		})
	})
	t.Run("reset after a restart", func(t *testing.T) {
		c.events("topics=traffic", "another-1-1", func(event, _, _ string) bool { return event == "reset" })
	})
	t.Run("reset after a gap", func(t *testing.T) {
		for range hubSize + 1 {
			c.h.hub.publish("bench", access.Principal{}, bench.Event{Type: "line"})
		}
		c.events("topics=bench", last, func(event, _, _ string) bool { return event == "reset" })
	})
}

func TestValidateAndSettings(t *testing.T) {
	c := start(t).login(api.ScopeAdmin)
	var out struct{ Problems []Problem }
	body := map[string]any{"schema": json.RawMessage(`{"properties":{"n":{"maximum":100}}}`), "value": json.RawMessage(`{"n":500}`)}
	must.Parse(t, c.want(200, "POST", "validate", body), &out)
	if len(out.Problems) != 1 || out.Problems[0].Path != "/n" {
		t.Errorf("problems = %+v", out.Problems)
	}
	c.want(422, "POST", "validate", map[string]any{"schema": json.RawMessage(`{"type":5}`), "value": 1})

	c.want(204, "PUT", "settings/startWait", map[string]any{"value": "20s"})
	var settings []Setting
	c.get("settings", &settings)
	if string(settings[1].Value) != `"20s"` {
		t.Errorf("settings = %s", settings[1].Value)
	}
	c.want(404, "PUT", "settings/nothing", map[string]any{"value": 1})
	var file ConfigFile
	c.get("config", &file)
	c.want(409, "PUT", "config", map[string]any{"text": `{"npx"}`, "mark": file.Mark})
	c.want(204, "PUT", "config", map[string]any{"text": `{"npx"}`, "mark": file.Mark, "confirm": "npx"})
	c.want(409, "PUT", "config", map[string]any{"text": `{}`, "mark": file.Mark})
	c.want(204, "POST", "restart", nil)
}

// packed returns a text as the build stores it.
func packed(text string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return out.Bytes()
}

func TestPage(t *testing.T) {
	text := strings.Repeat("const a = 1;\n", 200)
	p := page{fstest.MapFS{"index.html.gz": {Data: packed("<!doctype html>")}, "assets/app.js.gz": {Data: packed(text)}}}
	get := func(path string, header ...string) *http.Response {
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Result()
	}
	js := get("/ui/assets/app.js", "Accept-Encoding", "gzip")
	if js.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(js.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("header = %v", js.Header)
	}
	for _, encoding := range []string{"gzip", "br", ""} {
		body, err := io.ReadAll(get("/ui/assets/app.js", "Accept-Encoding", encoding).Body)
		if encoding == "gzip" {
			body = unpack(body)
		}
		if err != nil || string(body) != text {
			t.Errorf("for a client that accepts %q: %d bytes, %v", encoding, len(body), err)
		}
	}
	if again := get("/ui/assets/app.js", "If-None-Match", js.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("status with an ETag = %d", again.StatusCode)
	}
	for _, screen := range []string{"/ui/", "/ui/servers", "/ui/bench/demo/tools/a.b"} {
		if body, _ := io.ReadAll(get(screen).Body); string(body) != "<!doctype html>" {
			t.Errorf("%s = %s", screen, body)
		}
	}
	if got := get("/ui/assets/none.js").StatusCode; got != 404 {
		t.Errorf("a missing file = %d", got)
	}
	p = page{fstest.MapFS{}}
	if body, _ := io.ReadAll(get("/ui/").Body); !strings.Contains(string(body), "make build") {
		t.Errorf("without a page: %s", body)
	}
}

// For every path, the response is a file of the page with the policy that
// prevents a page from running code that a server wrote.
//
// fault/T34
func TestEveryAnswerHasThePolicy(t *testing.T) {
	c := start(t)
	for _, path := range []string{
		"/ui/", "/api/v1/session", "/elsewhere", "/ui/../../../etc/passwd", "/ui/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/ui/..%2f..%2f..%2fetc%2fpasswd", "/ui//etc/passwd",
		"/ui/assets/../../../../etc/passwd", "/ui/assets/%2e%2e/api_test.go", `/ui/assets/..\..\api_test.go`, "/ui/assets/x%00.js", "/ui/<script>alert(1)</script>",
		"/api/v1/logs/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/servers/default/%3Cscript%3E", "/api/v1/<img src=x onerror=alert(1)>",
	} {
		resp, body := must.Answer(t, c.client, must.Request(t, "GET", c.url+path, ""))
		if strings.Contains(body, "root:") || strings.Contains(body, "package web") || strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s: %.300s", path, body)
		}
		if resp.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: header %v", path, resp.Header)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy = %q", path, csp)
		}
	}
}
