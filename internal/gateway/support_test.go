package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/upstream/servers"
)

// A raw is a server over HTTP that answers each method with a fixed result, and
// stores the requests it gets.
type raw struct {
	*httptest.Server
	results map[string]string
	got     chan string
	most    int // how many resources of a request are watched; 0 is any number

	mu      sync.Mutex
	streams map[chan string]bool // the open streams of subscriptions/listen
}

// say sends a notification on every open stream, as servers do: while one
// stream replaces another, both are open.
func (r *raw) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for stream := range r.streams {
		stream <- line
	}
}

// newRaw serves a legacy server. Methods without a result are not found.
func newRaw(t *testing.T, capabilities string, results map[string]string) *raw {
	r := &raw{results: results, got: make(chan string, 100), streams: make(map[chan string]bool)}
	results[mcp.MethodInitialize] = `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"raw","version":"1"}}`
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// speak makes the server speak a single version.
func (r *raw) speak(version string) {
	hello := r.results[mcp.MethodInitialize]
	if mcp.Rules(version).Era == mcp.Legacy {
		r.results[mcp.MethodInitialize] = strings.Replace(hello, mcp.V2025_11_25, version, 1)
		return
	}
	delete(r.results, mcp.MethodInitialize)
	r.results[mcp.MethodDiscover] = `{"resultType":"complete","supportedVersions":["` + version + `"],` + hello[strings.Index(hello, `"capabilities"`):]
}

func (r *raw) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	m, bad := jsonrpc.Scan(body, nil)
	if bad != nil || m.Kind != jsonrpc.KindRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == mcp.MethodListen && r.results[mcp.MethodDiscover] != "" {
		r.stream(w, req, string(m.ID), jsonrpc.Get(m.Params, "notifications"))
		return
	}
	result, ok := r.results[m.Method]
	if !ok {
		w.Header().Set("Content-Type", "application/json")
		w.Write(jsonrpc.AppendResponse(nil, m.ID, &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")}))
		return
	}
	if m.Method != mcp.MethodInitialize {
		r.got <- m.Method + " " + string(m.Params)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(jsonrpc.AppendResponse(nil, m.ID, &jsonrpc.Response{Result: []byte(result)}))
}

// stream answers subscriptions/listen with the notifications of the test, while
// the client listens.
func (r *raw) stream(w http.ResponseWriter, req *http.Request, id string, honoured []byte) {
	w.Header().Set("Content-Type", "text/event-stream")
	tell := func(method, members string) {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{%s,\"_meta\":{%q:%s}}}\n\n", method, members, mcp.MetaSubscriptionID, id)
		w.(http.Flusher).Flush()
	}
	says := make(chan string, 10)
	r.mu.Lock()
	r.streams[says] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.streams, says)
		r.mu.Unlock()
	}()
	var watched [][]byte
	for uri := range jsonrpc.Elements(jsonrpc.Get(honoured, "resourceSubscriptions")) {
		if watched = append(watched, uri); len(watched) == r.most {
			honoured = jsonrpc.Set(honoured, slices.Concat([]byte{'['}, bytes.Join(watched, []byte{','}), []byte{']'}), "resourceSubscriptions")
			break
		}
	}
	tell(mcp.NotificationListening, `"notifications":`+string(honoured))
	for {
		select {
		case line := <-says:
			method, members, _ := strings.Cut(line, " ")
			tell(method, members)
		case <-req.Context().Done():
			return
		}
	}
}

// sent waits for a request of a method and returns it.
func (r *raw) sent(t *testing.T, method string) string {
	t.Helper()
	timeout := time.After(5 * time.Second)
	for {
		select {
		case line := <-r.got:
			if params, ok := strings.CutPrefix(line, method+" "); ok {
				return params
			}
		case <-timeout:
			t.Fatalf("the server got no %s", method)
		}
	}
}

// newGateway returns a gateway in front of servers over HTTP, by name.
func newGateway(t *testing.T, urls map[string]string, change func(*config.Config)) *Gateway {
	t.Helper()
	schema := config.NewSchema(config.DefaultSchema)
	for name, url := range urls {
		s := config.NewServer(name)
		s.Schema, s.Type, s.URL = schema.Name, config.TypeHTTP, url
		schema.Servers = append(schema.Servers, s)
	}
	cfg := &config.Config{Schemas: []*config.Schema{schema}, Limits: config.DefaultLimits(), StartWait: 5 * time.Second, Compat: "auto"}
	if change != nil {
		change(cfg)
	}
	log := slog.New(slog.DiscardHandler)
	var g *Gateway
	ctx, cancel := context.WithCancel(context.Background())
	set := servers.NewSet(ctx, upstream.Options{
		Log: log, Limits: &cfg.Limits, Info: []byte(`{"name":"test","version":"1"}`), Memory: memory.Open(""),
		Pins:  pin.Open(t.TempDir(), nil),
		Roots: func() []config.Root { return nil },
	})
	g = New(Options{Set: set, Log: log, Info: mcp.Implementation{Name: "mcp-all-in-one", Version: mcp.ProductVersion}})
	t.Cleanup(func() {
		g.Close()
		set.Close(ctx)
		cancel()
	})
	set.Apply(cfg, nil)
	return g
}

// nobody is a client that cannot be asked.
type nobody struct{}

func (nobody) Call(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return nil, jsonrpc.ErrClosed
}
func (nobody) Notify(context.Context, *jsonrpc.Notification) error { return nil }

// opened returns a session whose servers have started.
func opened(tb testing.TB, g *Gateway, o Opening) *Session {
	tb.Helper()
	s, err := g.Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	s.startup.awaitAll(tb.Context())
	return s
}

// open returns a session after the handshake at a version.
func open(t *testing.T, g *Gateway, server, version, capabilities string) *Session {
	t.Helper()
	s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Server: server, Session: true, Client: nobody{}})
	ask(t, s, mcp.MethodInitialize, `{"protocolVersion":"`+version+`","capabilities":`+capabilities+`,"clientInfo":{"name":"c","version":"1"}}`)
	return s
}

// ask sends a request and returns its result.
func ask(t *testing.T, s *Session, method, params string) string {
	t.Helper()
	resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: method, Params: []byte(params)})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if resp.Err != nil {
		t.Fatalf("%s: %v", method, resp.Err)
	}
	return string(resp.Result)
}
