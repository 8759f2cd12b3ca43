package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
)

var admin = access.Owner

// principals has one principal for each scope.
var principals = map[string]access.Principal{
	api.ScopeRead:  {ID: "key:reader", Name: "reader", Grant: access.Grant{ReadOnly: true}},
	api.ScopeCall:  {ID: "key:caller", Name: "caller"},
	api.ScopeAdmin: access.Owner,
}

func memoryOptions() Options {
	record := traffic.New(traffic.Options{})
	example := mcptest.ExampleServer(20, 1<<20)
	return Options{
		Servers: newMemoryServers(),
		Traffic: record,
		Bench: (&memoryBench{record, map[string]*mcpserver.Server{
			"demo": mcpserver.Demo(), "prompts": example, "example-server": example}}).open,
		Inbox: &inbox.Inbox{},
		Settings: &memorySettings{values: map[string]json.RawMessage{
			"server.port": json.RawMessage("3095"), "startWait": json.RawMessage(`"10s"`)}},
		Reload: func() (Reload, error) {
			return Reload{Path: "/mcp.json", Added: []string{"default/new"}, Removed: []string{}, Changed: []string{}, Problems: []string{}, ProblemsZH: []string{}}, nil
		},
		Restart: func() error { return nil },
		Clients: func() []Client {
			return []Client{{Session: "s1", Name: "claude-code", Version: "2.1", Transport: "http", Calls: 34}}
		},
		Validate: validate,
		Version:  "0.0.0-test",
		Endpoint: "http://127.0.0.1:3095/mcp",
	}
}

func validate(schema, value json.RawMessage) ([]Problem, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	invalid, ok := compiled.Validate(v).(*jsonschema.ValidationError)
	if !ok {
		return nil, nil
	}
	var out []Problem
	for _, unit := range invalid.BasicOutput().Errors {
		out = append(out, Problem{Path: unit.InstanceLocation, Message: unit.Error.String()})
	}
	return out, nil
}

// console is a running console and a client of it.
type console struct {
	*testing.T
	h      *Handler
	url    string
	client *http.Client
	opt    Options
}

func start(t *testing.T, change ...func(*Options)) *console {
	t.Helper()
	opt := memoryOptions()
	for _, f := range change {
		f(&opt)
	}
	h, err := New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(h)
	http1.Bound(srv.Config, time.Second, time.Second)
	srv.Start()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t, h, srv.URL, &http.Client{Jar: jar}, opt}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	return c
}

// login logs in with a scope.
func (c *console) login(scope string) *console {
	c.Helper()
	c.want(200, "POST", "login", map[string]string{"code": c.h.Logins.NewCode(principals[scope])})
	return c
}

// send makes one request as the page does.
func (c *console) send(method, path string, body any, header ...string) *http.Response {
	c.Helper()
	var in io.Reader
	if body != nil {
		data := must.JSON(c, body)
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(c.Context(), method, c.url+api.Prefix+path, in)
	if err != nil {
		c.Fatal(err)
	}
	if method != "GET" {
		req.Header.Set(api.ChangeHeader, "1")
		req.Header.Set("Origin", c.url)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	resp, err := c.client.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	return resp
}

// want makes a request, checks the response against the API description and
// returns its body.
func (c *console) want(status int, method, path string, body any, header ...string) []byte {
	c.Helper()
	resp := c.send(method, path, body, header...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	if resp.StatusCode != status {
		c.Fatalf("%s %s = %d %s, want %d", method, path, resp.StatusCode, data, status)
	}
	c.described(method, path, resp, data)
	return data
}

// get decodes the response to a GET.
func (c *console) get(path string, v any) {
	c.Helper()
	must.Parse(c, c.want(200, "GET", path, nil), v)
}

// described fails the test if a response does not match openapi.json.
func (c *console) described(method, path string, resp *http.Response, data []byte) {
	c.Helper()
	path, _, _ = strings.Cut(path, "?")
	r := httptest.NewRequest(method, api.Prefix+path, nil)
	rt, _, _ := c.h.router.Find(r)
	if rt == nil || resp.StatusCode == http.StatusPartialContent {
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		c.Fatal(err)
	}
	op := doc.(map[string]any)["paths"].(map[string]any)["/"+rt.Pattern].(map[string]any)[strings.ToLower(method)].(map[string]any)
	responses := op["responses"].(map[string]any)
	key := fmt.Sprint(resp.StatusCode)
	if responses[key] == nil {
		key = "default"
	}
	content, _ := responses[key].(map[string]any)["content"].(map[string]any)
	if content == nil || content["application/json"] == nil {
		return
	}
	compiler := jsonschema.NewCompiler()
	must.OK(c, compiler.AddResource("openapi.json", doc))
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")
	where := "openapi.json#/paths/" + escape.Replace("/"+rt.Pattern) + "/" + strings.ToLower(method) + "/responses/" + key + "/content/application~1json/schema"
	schema, err := compiler.Compile(where)
	if err != nil {
		c.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		c.Fatalf("%s %s: %v in %s", method, path, err, data)
	}
	if err := schema.Validate(v); err != nil {
		c.Errorf("%s %s does not answer what openapi.json says: %v\n%s", method, path, err, data)
	}
}

// await calls f until it returns true; the event stream triggers each call.
func (c *console) await(what string, f func() bool) {
	c.Helper()
	wake, stop := c.h.hub.follow()
	defer stop()
	deadline := time.After(10 * time.Second)
	for !f() {
		select {
		case <-wake:
		case <-deadline:
			c.Fatalf("waited in vain for %s", what)
		}
	}
}
