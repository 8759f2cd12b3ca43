package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/late"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// TestSameAnswers sends random calls once over a connection of their own and once
// where a call with the same header went before: the answers, what the server gets
// and what is recorded are the same.
func TestSameAnswers(t *testing.T) {
	for _, client := range []mcp.Era{mcp.Legacy, mcp.Modern} {
		for _, server := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(fmt.Sprintf("%v client %v server", client, server), func(t *testing.T) { sameAnswers(t, client, server, 300) })
		}
	}
}

func sameAnswers(t *testing.T, client, server mcp.Era, n int) {
	v, usual := newVisitor(t, &parrot{modern: server == mcp.Modern}), caller{}
	odd := caller{Rand: rand.New(rand.NewPCG(1, 2))}
	if client == mcp.Legacy {
		usual.session = v.greet()
		odd.session = usual.session
	}
	warm := usual.call()
	until(t, "the server is called", func() bool { return strings.HasPrefix(v.post(v.kept, &warm), "200") })
	short := 0
	for range n {
		c, first := odd.call(), warm
		first.header = c.header
		first.name(c.tool)
		want := v.alone(&c)
		v.post(v.kept, &first)
		before := v.long.Load()
		if got := v.seen(v.kept, &c); got != want {
			t.Fatalf("%s\n%v\n\nbehind another: %s\n\nalone: %s", c.body, c.header, got, want)
		}
		if v.long.Load() == before {
			short++
		}
	}
	if short < n/3 {
		t.Errorf("%d of %d took the short way", short, n)
	}
}

// A visitor calls the gateway.
type visitor struct {
	t      *testing.T
	url    string
	kept   *http.Transport
	server *parrot
	record *traffic.Recorder
	calls  uint64 // of the record that were looked at
	long   atomic.Int64
	set    *upstream.Set
}

func newVisitor(t *testing.T, server *parrot) *visitor {
	v := &visitor{t: t, kept: &http.Transport{MaxConnsPerHost: 1}, server: server, record: traffic.New(traffic.Options{})}
	hs := httptest.NewServer(v.server)
	t.Cleanup(hs.Close)
	v.url, v.set = between(t, hs.URL, gateway.Options{Traffic: v.record}, func() { v.long.Add(1) })
	t.Cleanup(v.kept.CloseIdleConnections)
	return v
}

// greet opens a session of a client that cannot be asked, and returns its id.
func (v *visitor) greet() string {
	v.t.Helper()
	const body = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	resp, err := http.Post(v.url, "application/json", strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("Mcp-Session-Id")
}

// alone is seen on a connection that nothing else used.
func (v *visitor) alone(c *aCall) string {
	fresh := &http.Transport{}
	defer fresh.CloseIdleConnections()
	return v.seen(fresh, c)
}

// seen is all that comes of a call.
func (v *visitor) seen(tr *http.Transport, c *aCall) string {
	v.server.take()
	v.recorded()
	answer := v.post(tr, c)
	sent := token.ReplaceAllString(strings.Join(v.server.take(), "\nand "), `"progressToken":1`)
	return answer + "\nsent " + sent + "\nrecorded " + v.recorded()
}

// recorded is what was since the last time, but for times.
func (v *visitor) recorded() string {
	var calls []traffic.Call
	until(v.t, "all is recorded", func() bool {
		calls, _ = v.record.List(nil, 0, 10)
		return !slices.ContainsFunc(calls, func(c traffic.Call) bool { return c.Status == traffic.StatusPending })
	})
	var b strings.Builder
	for _, c := range slices.Backward(calls) {
		if c.ID > v.calls {
			v.calls = c.ID
			req, _ := v.record.Body(c.ID, traffic.Request)
			res, _ := v.record.Body(c.ID, traffic.Response)
			fmt.Fprintf(&b, "%s %s %q %s %d %s %d %d %q\n%s\n%s\n", c.Hop, c.Server, c.Name, c.Status, c.Code, c.Reason, c.ReqSize, c.ResSize, c.Notes, req, res)
		}
	}
	return seal.ReplaceAllString(b.String(), "aio1.")
}

// What differs each time: handles that we seal, tokens and ids that we give.
var (
	seal  = regexp.MustCompile(`aio1\.[A-Za-z0-9_-]+`)
	event = regexp.MustCompile(`(?m)^id: .*$`)
	token = regexp.MustCompile(`"progressToken":[0-9]+`)
)

func (v *visitor) post(tr *http.Transport, c *aCall) string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.url, strings.NewReader(c.body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header = c.header
	resp, err := tr.RoundTrip(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", resp.Header["Content-Type"], " ", event.ReplaceAllString(seal.ReplaceAllString(string(body), "aio1."), "id"))
}

// TestSameRelayed is TestSameAnswers for what a client on stdio calls.
func TestSameRelayed(t *testing.T) {
	for _, client := range []string{"", "legacy"} {
		for _, server := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			t.Run(fmt.Sprintf("%s client %v server", client, server), func(t *testing.T) { sameRelayed(t, client, server, 500) })
		}
	}
}

func sameRelayed(t *testing.T, client string, era mcp.Era, n int) {
	server := &parrot{modern: era == mcp.Modern}
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	gw, _ := inFrontOf(t, hs.URL, nil, gateway.Options{})
	s, err := gw.Open(gateway.Opening{Schema: config.DefaultSchema, Stdio: true, Session: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	req := func(c aCall) *jsonrpc.Request {
		m, err := jsonrpc.Scan([]byte(c.body), nil)
		if err != nil { // nobody would hear of it
			return &jsonrpc.Request{}
		}
		return &jsonrpc.Request{Method: m.Method, Params: m.Params}
	}
	warm := caller{session: client}.call()
	until(t, "the server is called", func() bool {
		resp, err := s.Handle(t.Context(), silent{}, req(warm))
		return err == nil && resp.Err == nil
	})
	odd, relayed := caller{rand.New(rand.NewPCG(3, 4)), client}, 0
	for range n {
		c, ctx, got := odd.call(), new(late.Context), make(outcomes, 1)
		ctx.Init(t.Context())
		server.take()
		if !s.Relay(ctx, new(jsonrpc.Turn), silent{}, req(c), got) {
			continue
		}
		relayed++
		short := <-got + strings.Join(server.take(), "\n")
		resp, err := s.Handle(t.Context(), silent{}, req(c))
		got.Complete(nil, resp, err)
		if long := <-got + strings.Join(server.take(), "\n"); short != long {
			t.Fatalf("%s\n\nrelayed: %s\n\nhandled: %s", c.body, short, long)
		}
	}
	if relayed < n/3 {
		t.Errorf("%d of %d were relayed", relayed, n)
	}
}

// outcomes are those of calls, one after the other.
type outcomes chan string

func (o outcomes) Complete(_ *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	var failed *jsonrpc.Error
	switch {
	case err == nil && resp != nil:
		o <- seal.ReplaceAllString(string(jsonrpc.AppendResponse(nil, []byte("1"), resp)), "aio1.")
		resp.Release()
	case errors.As(err, &failed):
		o <- string(jsonrpc.AppendError(nil, failed))
	default:
		o <- fmt.Sprint(err)
	}
}

// silent is a client that is told nothing.
type silent struct{ jsonrpc.Peer }

func (silent) Notify(context.Context, *jsonrpc.Notification) error { return nil }
