package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A rooted is a client that answers with its root.
type rooted struct {
	nobody
	folder string
	asked  int
}

func (r *rooted) Call(_ context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if req.Method != mcp.MethodRootsList {
		return nil, jsonrpc.MethodNotFound(req.Method, "no")
	}
	r.asked++
	return &jsonrpc.Response{Result: []byte(`{"roots":[{"uri":"file://` + r.folder + `"}]}`)}, nil
}

// TestProjectOfSession checks that the subscriptions of a session move with its
// project, and that only clients that may name a folder can do so.
func TestProjectOfSession(t *testing.T) {
	r := newRaw(t, `{"tools":{},"resources":{"subscribe":true}}`, map[string]string{
		mcp.MethodToolsList: refusalTools, mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[]}`, mcp.MethodSubscribe: `{}`, mcp.MethodUnsubscribe: `{}`,
		mcp.MethodResourcesRead: `{"contents":[]}`,
	})
	g := newGateway(t, map[string]string{"raw": r.URL}, func(c *config.Config) { c.Schemas[0].Servers[0].Share = "project" })
	for name, tt := range map[string]struct {
		who   access.Principal
		names bool
	}{
		"a key":           {access.Principal{ID: "key:k", Here: true}, false},
		"a local program": {access.Local, true},
	} {
		t.Run(name, func(t *testing.T) {
			client := &rooted{folder: "/C:/x"}
			s, err := g.Open(Opening{Who: tt.who, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			send := func(method, params string) {
				t.Helper()
				resp, err := s.Handle(t.Context(), client, &jsonrpc.Request{Method: method, Params: []byte(params)})
				if err != nil || resp.Err != nil {
					t.Fatalf("%s: %v, %+v", method, err, resp)
				}
			}
			send(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)
			send(mcp.MethodSubscribe, `{"uri":"raw://one"}`)
			r.sent(t, mcp.MethodSubscribe)
			p := s.caller.Project()
			if p == nil || (p.Folder != "") != tt.names || !strings.Contains(p.ID(), "file:///C:/x") {
				t.Fatalf("project %+v", p)
			}
			send(mcp.MethodResourcesRead, `{"uri":"raw://one"}`)
			if client.asked != 1 {
				t.Errorf("asked %d times", client.asked)
			}
			client.folder = "/C:/y"
			s.HandleNotification(t.Context(), client, &jsonrpc.Notification{Method: mcp.NotificationRootsList})
			send(mcp.MethodResourcesRead, `{"uri":"raw://one"}`)
			r.sent(t, mcp.MethodUnsubscribe)
			r.sent(t, mcp.MethodSubscribe)
			r.sent(t, mcp.MethodResourcesRead)
			if p := s.caller.Project(); client.asked != 2 || !strings.Contains(p.ID(), "file:///C:/y") {
				t.Errorf("asked %d times, project %+v", client.asked, p)
			}
			send(mcp.MethodUnsubscribe, `{"uri":"raw://one"}`)
			r.sent(t, mcp.MethodUnsubscribe)
		})
	}
}

// TestTaskStaysInItsProject checks that requests about a task go to the
// connection that began it, even after its client has changed the project.
func TestTaskStaysInItsProject(t *testing.T) {
	r := newRaw(t, `{"tools":{},"resources":{},"tasks":{"requests":{"tools":{"call":{}}}}}`, map[string]string{
		mcp.MethodToolsList: taskTools, mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[]}`, mcp.MethodResourcesRead: `{"contents":[]}`,
		mcp.MethodToolsCall: `{"task":{"taskId":"t1","status":"working"}}`, mcp.MethodTasksGet: `{"taskId":"t1","status":"working"}`,
	})
	var sessions atomic.Int64
	used := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if id := req.Header.Get("Mcp-Session-Id"); id == "" {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
		} else if body, err := io.ReadAll(req.Body); err == nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
			if method, _ := jsonrpc.GetString(body, "method"); method == mcp.MethodToolsCall || method == mcp.MethodTasksGet || method == mcp.MethodResourcesRead {
				used <- method + " " + id
			}
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	g := newGateway(t, map[string]string{"raw": server.URL}, func(c *config.Config) { c.Schemas[0].Servers[0].Share = "project" })
	client := &rooted{folder: "/x"}
	s, err := g.Open(Opening{Who: access.Local, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.startup.settle(t.Context())
	send := func(method, params string) (session string) {
		t.Helper()
		resp, err := s.Handle(t.Context(), client, &jsonrpc.Request{Method: method, Params: []byte(params)})
		if err != nil || resp.Err != nil {
			t.Fatalf("%s: %v, %+v", method, err, resp)
		}
		if method == mcp.MethodInitialize {
			return ""
		}
		got, session, _ := strings.Cut(<-used, " ")
		if got != method {
			t.Errorf("the server got %s, not %s", got, method)
		}
		return session
	}
	send(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)
	first := send(mcp.MethodToolsCall, `{"name":"slow","arguments":{},"task":{}}`)
	client.folder = "/y"
	s.HandleNotification(t.Context(), client, &jsonrpc.Notification{Method: mcp.NotificationRootsList})
	if session := send(mcp.MethodResourcesRead, `{"uri":"raw://one"}`); session == first {
		t.Errorf("the client did not move from session %s", session)
	}
	if session := send(mcp.MethodTasksGet, `{"taskId":"t1"}`); session != first {
		t.Errorf("the task is asked about in session %s, not in %s", session, first)
	}
}

// A subscriber is a client that tells when its subscriptions are acknowledged.
type subscriber struct {
	rooted
	acknowledged chan struct{}
}

func (h *subscriber) Notify(_ context.Context, n *jsonrpc.Notification) error {
	if n.Method == mcp.NotificationListening {
		close(h.acknowledged)
	}
	return nil
}

// TestListenInAllProjects checks that a modern client, which cannot be asked for
// its roots while it subscribes, hears of the resource in every project of its
// principal.
func TestListenInAllProjects(t *testing.T) {
	r := newRaw(t, `{"resources":{"subscribe":true}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`, mcp.MethodTemplatesList: `{"resourceTemplates":[]}`,
		mcp.MethodSubscribe: `{}`, mcp.MethodUnsubscribe: `{}`, mcp.MethodResourcesRead: `{"contents":[]}`,
	})
	var sessions atomic.Int64
	used := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if id := req.Header.Get("Mcp-Session-Id"); id == "" {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
		} else if body, err := io.ReadAll(req.Body); err == nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
			switch method, _ := jsonrpc.GetString(body, "method"); method {
			case mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodResourcesRead:
				used <- method + " " + id
			}
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	g := newGateway(t, map[string]string{"raw": server.URL}, func(c *config.Config) { c.Schemas[0].Servers[0].Share = "project" })
	open := func(client *rooted) *Session {
		s, err := g.Open(Opening{Who: access.Local, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		s.startup.settle(t.Context())
		return s
	}
	want := make(map[string]bool)
	for _, folder := range []string{"/x", "/y"} {
		client := &rooted{folder: folder}
		s := open(client)
		for _, req := range []*jsonrpc.Request{
			{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)},
			{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"raw://one"}`)},
		} {
			if resp, err := s.Handle(t.Context(), client, req); err != nil || resp.Err != nil {
				t.Fatalf("%s: %v, %+v", req.Method, err, resp)
			}
		}
		_, session, _ := strings.Cut(<-used, " ")
		want[session] = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over, client := make(chan struct{}), &subscriber{rooted{folder: "/x"}, make(chan struct{})}
	listener := open(&client.rooted)
	go func() {
		defer close(over)
		listener.Handle(ctx, client, &jsonrpc.Request{Method: mcp.MethodListen, Params: []byte(`{"notifications":{"resourceSubscriptions":["raw://one"]},
			"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}`)})
	}()
	for _, method := range []string{mcp.MethodSubscribe, mcp.MethodUnsubscribe} {
		got := make(map[string]bool)
		for range want {
			was, session, _ := strings.Cut(<-used, " ")
			got[session] = was == method
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s in the sessions %v, want %v", method, got, want)
		}
		<-client.acknowledged
		cancel()
	}
	<-over
}
