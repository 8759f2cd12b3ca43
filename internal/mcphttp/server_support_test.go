package mcphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-all-in-one/internal/http1"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp"
	"mcp-all-in-one/internal/mcphttp/origin"
	"mcp-all-in-one/internal/mcphttp/sse"
	"mcp-all-in-one/internal/mcptest/must"
)

// patience is how long a test waits for an expected event.
const patience = 10 * time.Second

// A world is a server with toy sessions over real HTTP.
type world struct {
	t   testing.TB
	srv *mcphttp.Server
	url string // URL of the MCP endpoint
	tr  *http.Transport
	// close stops the server; it is called at the end of the test, if not before.
	close func()

	started chan string   // tokens of calls that wait
	ended   chan error    // why the contexts of waiting calls ended
	release chan struct{} // lets one waiting call return
	notes   chan string   // received notifications

	handler mcphttp.Session // used instead of toys

	mu       sync.Mutex
	openings []*mcphttp.Opening
	closed   int // number of closed sessions
}

// newWorld serves on 127.0.0.1 with the guard of a loopback address. The header
// Test-Principal gives the authenticated principal.
func newWorld(t testing.TB, lim mcphttp.ServerLimits) *world {
	t.Helper()
	ln := must.Listen(t)
	return newWorldOn(t, lim, ln, new(net.Dialer).DialContext)
}

func newWorldOn(t testing.TB, lim mcphttp.ServerLimits, ln net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *world {
	before := goleak.IgnoreCurrent()
	w := &world{
		t: t, url: "http://" + ln.Addr().String() + "/mcp",
		started: make(chan string, 1000), ended: make(chan error, 1000), release: make(chan struct{}, 1000), notes: make(chan string, 1000),
	}
	w.srv = mcphttp.NewServer(mcphttp.ServerOptions{Limits: lim, Open: w.open})
	guard := &origin.Guard{Loopback: true, Origins: []string{"https://app.example"}}
	hs := mcphttp.HTTPServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !guard.Check(rw, r) {
			return
		}
		who := r.Header.Get("Test-Principal")
		switch r.URL.Path {
		case "/mcp":
			w.srv.ServeMCP(rw, r, mcphttp.Endpoint{}, who)
		case "/other/mcp":
			w.srv.ServeMCP(rw, r, mcphttp.Endpoint{Schema: "other"}, who)
		case "/sse":
			w.srv.ServeSSE(rw, r, mcphttp.Endpoint{}, "/message", who)
		case "/message":
			w.srv.ServeMessage(rw, r, who)
		default:
			http.NotFound(rw, r)
		}
	}), lim, nil)
	front, served := http1.NewServer(hs), make(chan struct{})
	go func() {
		defer close(served)
		_ = front.Serve(ln)
	}()
	w.tr = &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100}
	w.close = sync.OnceFunc(func() {
		w.tr.CloseIdleConnections()
		w.srv.Close()
		_ = front.Close()
		<-served
	})
	t.Cleanup(func() {
		w.close()
		must.Await(t, "goroutines to end", func() bool { return goleak.Find(before) == nil })
	})
	return w
}

func (w *world) open(ctx context.Context, o *mcphttp.Opening) (mcphttp.Session, error) {
	if o.Header.Get("Test-Open") == "fail" {
		return nil, jsonrpc.Errorf(404, "Schema 'x' not found or disabled")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.openings = append(w.openings, o)
	if w.handler != nil {
		return w.handler, nil
	}
	return &toy{w: w, o: o}, nil
}

func (w *world) opening(i int) *mcphttp.Opening {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i < 0 {
		i += len(w.openings)
	}
	return w.openings[i]
}

func (w *world) closedSessions() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// An answer is the response to one request.
type answer struct {
	status int
	header http.Header
	body   string
}

// message parses the body, which must be one JSON-RPC message.
func (a answer) message(t testing.TB) jsonrpc.Message {
	t.Helper()
	m, err := jsonrpc.ScanAnswer([]byte(a.body), nil)
	if err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return m
}

// code returns the code of the JSON-RPC error in the body, 0 for none.
func (a answer) code() int {
	var m struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(a.body), &m)
	return m.Error.Code
}

const both = "application/json, text/event-stream"

// do sends one request; header has alternating names and values.
func (w *world) do(ctx context.Context, method, url, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.tr.RoundTrip(req)
}

func (w *world) send(method, url, body string, header ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := w.do(ctx, method, url, body, header...)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, body, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: reading the answer: %v", method, body, err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// post sends a message to the MCP endpoint.
func (w *world) post(body string, header ...string) answer {
	w.t.Helper()
	return w.send(http.MethodPost, w.url, body, header...)
}

func initializeBody(version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, version)
}

// initialize opens a session and returns its id.
func (w *world) initialize(version string, header ...string) string {
	w.t.Helper()
	a := w.post(initializeBody(version), header...)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		w.t.Fatalf("initialize: status %d, session %q, %s", a.status, id, a.body)
	}
	return id
}

// newSession returns a world without limits of its own, and a session in it.
func newSession(t testing.TB, version string) (w *world, id string) {
	t.Helper()
	w = newWorld(t, mcphttp.ServerLimits{})
	return w, w.initialize(version)
}

func callBody(id any, tool, word string, n int) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"n":%d}}}`, raw, tool, word, n)
}

// listening is an open event stream.
type listening struct {
	t      testing.TB
	resp   *http.Response
	cancel context.CancelFunc
	r      *sse.EventReader
}

// listen opens an event stream with a GET, or with a POST when body is set.
func (w *world) listen(body string, header ...string) *listening {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	method, accept := http.MethodGet, "text/event-stream"
	if body != "" {
		method, accept = http.MethodPost, both
	}
	resp, err := w.do(ctx, method, w.url, body, append([]string{"Accept", accept}, header...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("status %d, type %q: %s", resp.StatusCode, ct, b)
	}
	l := &listening{w.t, resp, cancel, sse.NewEventReader(resp.Body, 1<<20)}
	w.t.Cleanup(l.close)
	return l
}

func (l *listening) close() {
	l.cancel()
	_ = l.resp.Body.Close()
}

// next returns the next event, or an error at the end.
func (l *listening) next() (sse.Event, error) {
	l.t.Helper()
	type outcome struct {
		ev  sse.Event
		err error
	}
	ch := make(chan outcome, 1)
	go func() {
		ev, err := l.r.Next()
		ev.Data = bytes.Clone(ev.Data)
		ch <- outcome{ev, err}
	}()
	select {
	case o := <-ch:
		return o.ev, o.err
	case <-time.After(patience):
		l.close()
		<-ch
		l.t.Fatal("no event came")
		panic("unreachable")
	}
}

// message returns the next event with data.
func (l *listening) message() sse.Event {
	l.t.Helper()
	for {
		ev, err := l.next()
		if err != nil {
			l.t.Fatalf("reading an event: %v", err)
		}
		if len(ev.Data) > 0 {
			return ev
		}
	}
}

// want fails unless the next message contains all parts.
func (l *listening) want(parts ...string) sse.Event {
	l.t.Helper()
	ev := l.message()
	for _, part := range parts {
		if !strings.Contains(string(ev.Data), part) {
			l.t.Fatalf("event %s, want one with %s", ev.Data, part)
		}
	}
	return ev
}

// question returns the next message, which must contain all parts.
func (l *listening) question(parts ...string) jsonrpc.Message {
	l.t.Helper()
	q, err := jsonrpc.ScanAnswer(l.want(parts...).Data, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return q
}

// wantEnd fails unless the stream ends now.
func (l *listening) wantEnd() {
	l.t.Helper()
	if ev, err := l.next(); err != io.EOF {
		l.t.Fatalf("event %s, %v; want a clean end", ev.Data, err)
	}
}

// take receives from ch, or fails the test.
func take[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	return must.Receive(t, "a value", ch)
}

// raw sends bytes over a new connection and reads one response.
func (w *world) raw(request string, hangUp bool) (answer, error) {
	addr := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return answer{}, err
	}
	if hangUp {
		_ = conn.(*net.TCPConn).CloseWrite()
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return answer{}, err
	}
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return answer{resp.StatusCode, resp.Header, ""}, nil
	}
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}
