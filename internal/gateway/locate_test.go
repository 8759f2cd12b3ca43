package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
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
			s := opened(t, g, Opening{Who: tt.who, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
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

// byProject returns a gateway before the server, with a connection for each
// project. Each request of the given methods is told as "METHOD SESSION".
func (r *raw) byProject(t *testing.T, methods ...string) (*Gateway, chan string) {
	var sessions atomic.Int64
	used := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if id := req.Header.Get("Mcp-Session-Id"); id == "" {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
		} else if body, err := io.ReadAll(req.Body); err == nil {
			req.Body = io.NopCloser(bytes.NewReader(body))
			if method, _ := jsonrpc.GetString(body, "method"); slices.Contains(methods, method) {
				used <- method + " " + id
			}
		}
		r.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return newGateway(t, map[string]string{"raw": server.URL}, func(c *config.Config) { c.Schemas[0].Servers[0].Share = "project" }), used
}

// TestTaskStaysInItsProject checks that requests about a task go to the
// connection that began it, even after its client has changed the project.
func TestTaskStaysInItsProject(t *testing.T) {
	r := newRaw(t, `{"tools":{},"resources":{},"tasks":{"requests":{"tools":{"call":{}}}}}`, map[string]string{
		mcp.MethodToolsList: taskTools, mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[]}`, mcp.MethodResourcesRead: `{"contents":[]}`,
		mcp.MethodToolsCall: `{"task":{"taskId":"t1","status":"working"}}`, mcp.MethodTasksGet: `{"taskId":"t1","status":"working"}`,
	})
	g, used := r.byProject(t, mcp.MethodToolsCall, mcp.MethodTasksGet, mcp.MethodResourcesRead)
	client := &rooted{folder: "/x"}
	s := opened(t, g, Opening{Who: access.Local, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
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

// rawSession opens a session of a local program with the server of byProject.
func rawSession(t *testing.T, g *Gateway, client *rooted) *Session {
	t.Helper()
	s := opened(t, g, Opening{Who: access.Local, Schema: config.DefaultSchema, Server: "raw", Session: true, Client: client})
	return s
}

// inProjects opens a legacy session in each folder, has it read the resource, and
// returns them with the sessions at the server that they use.
func inProjects(t *testing.T, g *Gateway, used <-chan string, folders ...string) (clients map[string]*Session, there map[string]bool) {
	t.Helper()
	clients, there = make(map[string]*Session), make(map[string]bool)
	for _, folder := range folders {
		client := &rooted{folder: folder}
		s := rawSession(t, g, client)
		for _, req := range []*jsonrpc.Request{
			{Method: mcp.MethodInitialize, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)},
			{Method: mcp.MethodResourcesRead, Params: []byte(`{"uri":"raw://one"}`)},
		} {
			if resp, err := s.Handle(t.Context(), client, req); err != nil || resp.Err != nil {
				t.Fatalf("%s: %v, %+v", req.Method, err, resp)
			}
		}
		_, session, _ := strings.Cut(<-used, " ")
		clients[session], there[session] = s, true
	}
	return clients, there
}

// TestCompleteInProjects checks that the completions of a session reach the process
// of its project, and those of a modern client, which cannot be asked for its
// roots meanwhile, the process of every project of its principal.
func TestCompleteInProjects(t *testing.T) {
	r := newRaw(t, `{"resources":{},"completions":{}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`,
		mcp.MethodTemplatesList: `{"resourceTemplates":[{"uriTemplate":"raw://{name}","name":"any"}]}`,
		mcp.MethodResourcesRead: `{"contents":[]}`, mcp.MethodComplete: `{"completion":{"values":["one"]}}`,
	})
	g, used := r.byProject(t, mcp.MethodComplete, mcp.MethodResourcesRead)
	clients, there := inProjects(t, g, used, "/x", "/y")
	const params = `{"ref":{"type":"ref/resource","uri":"raw://{name}"},"argument":{"name":"name","value":"o"}}`
	complete := func(s *Session, client *rooted, params string) {
		t.Helper()
		resp, err := s.Handle(t.Context(), client, &jsonrpc.Request{Method: mcp.MethodComplete, Params: []byte(params)})
		if err != nil || resp.Err != nil || string(jsonrpc.Get(resp.Result, "completion", "values")) != `["one"]` {
			t.Fatalf("%v, %+v", err, resp)
		}
	}
	for session, s := range clients {
		complete(s, &rooted{}, params)
		if got := <-used; got != mcp.MethodComplete+" "+session {
			t.Errorf("the client of session %s: %s", session, got)
		}
	}
	client := &rooted{folder: "/x"}
	complete(rawSession(t, g, client), client, string(jsonrpc.Set([]byte(params),
		[]byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`), "_meta")))
	got := make(map[string]bool)
	for range there {
		method, session, _ := strings.Cut(<-used, " ")
		got[session] = method == mcp.MethodComplete
	}
	if !maps.Equal(got, there) || client.asked > 0 {
		t.Errorf("a modern client: completed in the sessions %v, want %v; asked %d times", got, there, client.asked)
	}
}

// TestListenInAllProjects checks that a modern client, which cannot be asked for
// its roots while it subscribes, hears of the resource in every project of its
// principal.
func TestListenInAllProjects(t *testing.T) {
	r := newRaw(t, `{"resources":{"subscribe":true}}`, map[string]string{
		mcp.MethodResourcesList: `{"resources":[{"uri":"raw://one","name":"one"}]}`, mcp.MethodTemplatesList: `{"resourceTemplates":[]}`,
		mcp.MethodSubscribe: `{}`, mcp.MethodUnsubscribe: `{}`, mcp.MethodResourcesRead: `{"contents":[]}`,
	})
	g, used := r.byProject(t, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodResourcesRead)
	_, want := inProjects(t, g, used, "/x", "/y")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over, client := make(chan struct{}), &subscriber{rooted{folder: "/x"}, make(chan struct{})}
	listener := rawSession(t, g, &client.rooted)
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
