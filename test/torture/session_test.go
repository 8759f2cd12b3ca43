package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/random"
	"mcp-all-in-one/test/figures"
)

// TestOwnNotifications checks that progress reaches the session that asked, in
// order, and that a question reaches the session whose call caused it.
func TestOwnNotifications(t *testing.T) {
	t.Run("fault/T03", func(t *testing.T) {
		fake := mcptest.Build(t)
		gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"s0":{"command":%[1]q,"args":["-role","hostile"]},"demo":{"command":%[1]q,"args":["-era","legacy"],"share":"session"}}}`, fake))
		ready(t, gateway)
		total, seed := figures.Size(640, 100_000), random.Seed(t)
		var foreign, reports, asked, failed atomic.Int64
		var wg sync.WaitGroup
		for s := range 32 {
			c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
			c.Initialize(mcp.LatestLegacy, `{"sampling":{}}`)
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(s)))
				for i := range total / 32 {
					mine := fmt.Sprintf("session-%d-call-%d", s, i)
					if i%10 == 9 {
						if !question(t, c, mine) {
							failed.Add(1)
						}
						asked.Add(1)
						continue
					}
					ctx, cancel := context.WithCancel(t.Context())
					if rng.IntN(4) == 0 { // disconnects half-way
						time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, cancel)
					}
					reply, err := c.Try(ctx, http.MethodPost, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"s0__progress","arguments":{"count":100,"token":%q},"_meta":{"progressToken":%[1]q}}}`, mine, mine))
					cancel()
					if err != nil {
						continue
					}
					n, bad := ownProgress(reply, mine)
					reports.Add(int64(n))
					foreign.Add(int64(bad))
				}
			})
		}
		wg.Wait()
		if foreign.Load() > 0 || failed.Load() > 0 || reports.Load() == 0 {
			t.Errorf("%d reports, %d foreign or out of order; %d of %d questions failed", reports.Load(), foreign.Load(), failed.Load(), asked.Load())
		}
		healthy(t, gateway)
		figures.Report(t, "T03", "%d calls in 32 sessions, a quarter left half-way: %d progress reports, 0 foreign, 0 out of order; %d questions, each answered by its own session", total, reports.Load(), asked.Load())
	})
}

// ownProgress counts the progress notifications of a reply, and the wrong ones
// among them.
func ownProgress(reply *mcptest.Reply, mine string) (n, bad int) {
	last, answered := 0.0, false
	for _, m := range reply.Messages {
		var p struct {
			ProgressToken string
			Progress      float64
		}
		switch {
		case m.Method == mcp.NotificationProgress:
			n++
			if json.Unmarshal(m.Params, &p) != nil || p.ProgressToken != mine || p.Progress <= last || answered {
				bad++
			}
			last = p.Progress
		case m.Method == "":
			if string(m.ID) != fmt.Sprintf("%q", mine) || m.Error == nil && !strings.Contains(string(m.Result), mine) {
				bad++
			}
			answered = true
		}
	}
	return n, bad
}

// question calls a tool that asks the client's model, and answers with a value
// that only this session knows.
func question(t *testing.T, c *mcptest.RawHTTP, mine string) bool {
	events := c.Stream(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"demo__ask_model","arguments":{"prompt":%q}}}`, mine, mine))
	defer events.Close()
	q := events.Message(t, "a question", func(m *mcptest.Message) bool { return m.Method == mcp.MethodSampling || m.Method == "" })
	if q.Method == "" || !strings.Contains(string(q.Params), mine) {
		return false
	}
	c.Post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"role":"assistant","content":{"type":"text","text":"secret of %s"},"model":"m"}}`, q.ID, mine))
	a := events.Message(t, "the answer", func(m *mcptest.Message) bool { return m.Method == "" })
	return strings.Contains(string(a.Result), "secret of "+mine)
}

// modern makes a modern request.
func modern(t *testing.T, url, method, params, capabilities string) (*mcptest.RawHTTP, string) {
	t.Helper()
	c := mcptest.NewRawHTTP(t, url)
	c.Header.Set("Mcp-Protocol-Version", mcp.LatestModern)
	c.Header.Set("Mcp-Method", method)
	var p map[string]any
	if err := json.Unmarshal([]byte(params), &p); err != nil {
		t.Fatal(err)
	}
	if name, ok := p["name"].(string); ok {
		c.Header.Set("Mcp-Name", name)
	}
	p["_meta"] = map[string]any{mcp.MetaVersion: mcp.LatestModern, mcp.MetaCapabilities: json.RawMessage(capabilities)}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return c, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, raw)
}

// TestSealedHandles checks that a changed handle is refused.
func TestSealedHandles(t *testing.T) {
	t.Run("fault/T05", func(t *testing.T) {
		gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["-era","legacy"]}}}`, mcptest.Build(t)))
		c, line := modern(t, gateway.URL+"/mcp", mcp.MethodToolsCall, `{"name":"demo__ask_name","arguments":{}}`, `{"elicitation":{}}`)
		var required struct {
			RequestState  string
			InputRequests map[string]json.RawMessage
		}
		if m := c.Post(line).Answer(t); json.Unmarshal(m.Result, &required) != nil || !strings.HasPrefix(required.RequestState, "aio1.") {
			t.Fatalf("no handle: %s", m.Raw)
		}
		retry := func(tool, state string) mcptest.Message {
			c, line := modern(t, gateway.URL+"/mcp", mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q,"arguments":{},"inputResponses":{},"requestState":%q}`, tool, state), `{"elicitation":{}}`)
			return c.Post(line).Answer(t)
		}
		step := figures.Size(5, 1)
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		tried := 0
		for at := len("aio1."); at < len(required.RequestState); at += step {
			for bit := range 6 {
				if !figures.Full() && bit != at%6 {
					continue
				}
				bent := []byte(required.RequestState)
				bent[at] = alphabet[strings.IndexByte(alphabet, bent[at])^(1<<bit)]
				tried++
				if m := retry("demo__ask_name", string(bent)); m.Error == nil || m.Error.Code != -32602 {
					t.Fatalf("bit %d of character %d changed: %s", bit, at, m.Raw)
				}
			}
		}
		if m := retry("demo__add", required.RequestState); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("used for another tool: %s", m.Raw)
		}
		figures.Report(t, "T05", "%d changes of one bit of a handle, all refused; refused for another tool", tried)
	})
}

// patient is a server whose tool waits until it is cancelled or a time has
// passed, and records which.
type patient struct {
	mu        sync.Mutex
	cancelled map[string]time.Time
	started   map[string]chan struct{}
	finished  map[string]bool
}

func (p *patient) begun(token string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started[token] == nil {
		p.started[token] = make(chan struct{})
	}
	return p.started[token]
}

func (p *patient) run(ctx context.Context, c *mcpserver.Call) (any, error) {
	var args struct {
		Token string
		MS    int
	}
	if err := c.Bind(&args); err != nil {
		return nil, err
	}
	close(p.begun(args.Token))
	select {
	case <-ctx.Done():
		p.mu.Lock()
		p.cancelled[args.Token] = time.Now()
		p.mu.Unlock()
		return nil, context.Cause(ctx)
	case <-time.After(time.Duration(args.MS) * time.Millisecond):
	}
	p.mu.Lock()
	p.finished[args.Token] = true
	p.mu.Unlock()
	return mcpserver.Text("%s", args.Token), nil
}

// newPatient serves a patient over HTTP, in legacy versions, and returns a
// gateway in front of it.
func newPatient(t *testing.T) (*patient, *mcptest.Process) {
	t.Helper()
	p := &patient{cancelled: map[string]time.Time{}, started: map[string]chan struct{}{}, finished: map[string]bool{}}
	s := mcpserver.New("patient")
	s.Versions = mcpserver.LegacyVersions
	s.SetTools(mcpserver.Tool{Definition: `{"name":"wait","inputSchema":{"type":"object"}}`, Run: p.run})
	handler, stop := s.HTTP("")
	front := httptest.NewServer(handler)
	t.Cleanup(func() { stop(); front.Close() })
	gateway := mcptest.Gateway(t, fmt.Sprintf(`{"mcpServers":{"p":{"type":"http","url":%q}}}`, front.URL+"/mcp"))
	ready(t, gateway)
	return p, gateway
}

// TestDisconnect checks that a modern client that disconnects cancels its call,
// and a legacy client does not.
func TestDisconnect(t *testing.T) {
	t.Run("fault/T07", func(t *testing.T) {
		p, gateway := newPatient(t)
		total, seed := figures.Size(200, 10_000), random.Seed(t)
		var mu sync.Mutex
		var took []time.Duration
		lost := 0
		var wg sync.WaitGroup
		for w := range 20 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for i := range total / 20 {
					token := fmt.Sprintf("modern-%d-%d", w, i)
					c, line := modern(t, gateway.URL+"/mcp", mcp.MethodToolsCall, fmt.Sprintf(`{"name":"p__wait","arguments":{"token":%q,"ms":30000}}`, token), `{}`)
					if i%2 == 1 { // on a reused connection, calls take another code path
						for n := range 2 {
							c.Try(t.Context(), http.MethodPost, strings.NewReplacer(token, fmt.Sprintf("before-%d-%s", n, token), "30000", "0").Replace(line))
						}
					}
					ctx, cancel := context.WithCancel(t.Context())
					var left time.Time
					go func() {
						<-p.begun(token)
						<-time.After(time.Duration(rng.IntN(20)) * time.Millisecond)
						left = time.Now()
						cancel()
					}()
					c.Try(ctx, http.MethodPost, line)
					cancelled := p.await(token, patience)
					mu.Lock()
					if cancelled.IsZero() {
						lost++
					} else {
						took = append(took, max(0, cancelled.Sub(left)))
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if lost > 0 {
			t.Fatalf("%d of %d calls were not cancelled", lost, total)
		}
		slices.Sort(took)
		p99, worst := took[len(took)*99/100], took[len(took)-1]
		if figures.Full() && (p99 > 100*time.Millisecond || worst > 500*time.Millisecond) {
			t.Errorf("cancelled after %v at p99, %v at most", p99, worst)
		}
		kept := legacyLeaves(t, p, gateway, figures.Size(5, 100))
		figures.Report(t, "T07", "%d modern calls left half-way: all cancelled at the server, p99 %v, longest %v; %d legacy calls left: 0 cancelled", total, p99.Round(time.Microsecond), worst.Round(time.Microsecond), kept)
	})
}

// await waits until a call is cancelled, and returns the time.
func (p *patient) await(token string, limit time.Duration) time.Time {
	late := time.After(limit)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		p.mu.Lock()
		at := p.cancelled[token]
		p.mu.Unlock()
		if !at.IsZero() {
			return at
		}
		select {
		case <-tick.C:
		case <-late:
			return time.Time{}
		}
	}
}

func legacyLeaves(t *testing.T, p *patient, gateway *mcptest.Process, n int) int {
	t.Helper()
	c := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
	c.Initialize(mcp.LatestLegacy, `{}`)
	for i := range n {
		token := fmt.Sprintf("legacy-%d", i)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-p.begun(token); cancel() }()
		c.Try(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"p__wait","arguments":{"token":%q,"ms":50}}}`, i, token))
		cancel()
		eventually(t, "end of "+token, patience, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.finished[token] || !p.cancelled[token].IsZero()
		})
		p.mu.Lock()
		if !p.cancelled[token].IsZero() {
			t.Errorf("%s was cancelled", token)
		}
		p.mu.Unlock()
	}
	return n
}

// isCancelled reports whether the response says that the client has cancelled
// the call.
func isCancelled(reply *mcptest.Reply) bool {
	return len(reply.Messages) == 1 && reply.Messages[0].Error != nil && strings.Contains(string(reply.Messages[0].Raw), `"reason":"cancelled"`)
}

// TestCancelRace checks that a cancellation that races with the result leads to
// exactly one response.
func TestCancelRace(t *testing.T) {
	t.Run("fault/T08", func(t *testing.T) {
		f := hostiles(t, 1, "")
		gateway := mcptest.Gateway(t, f.config)
		ready(t, gateway)
		total, seed := figures.Size(400, 20_000), random.Seed(t)
		var answered, silent, wrong atomic.Int64
		var wg, cancels sync.WaitGroup
		for w := range 20 {
			c, stranger := mcptest.NewRawHTTP(t, gateway.URL+"/mcp"), mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
			c.Initialize(mcp.LatestLegacy, `{}`)
			stranger.Initialize(mcp.LatestLegacy, `{}`)
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(w)))
				for i := range total / 20 {
					own := rng.IntN(2) == 0
					cancels.Add(1)
					timer := time.AfterFunc(time.Duration(rng.IntN(10_000))*time.Microsecond, func() {
						defer cancels.Done()
						who := stranger // its cancellation has no effect
						if own {
							who = c
						}
						who.Post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
					})
					reply, err := c.Try(t.Context(), http.MethodPost, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s0__sleep","arguments":{"ms":5,"token":"x"}}}`, i))
					if timer.Stop() {
						cancels.Done()
					}
					switch {
					case err != nil || len(reply.Messages) > 1:
						wrong.Add(1)
					case len(reply.Messages) == 1 && reply.Messages[0].Error == nil && string(reply.Messages[0].ID) == fmt.Sprint(i):
						answered.Add(1)
					case isCancelled(reply) && own:
						silent.Add(1)
					default:
						wrong.Add(1)
					}
				}
			})
		}
		wg.Wait()
		cancels.Wait() // late cancellations are still on their way
		if wrong.Load() > 0 || answered.Load() == 0 || silent.Load() == 0 {
			t.Errorf("%d answered, %d silent, %d wrong", answered.Load(), silent.Load(), wrong.Load())
		}
		figures.Report(t, "T08", "%d calls, half cancelled around their end by themselves, half by a stranger: %d answered once, %d told that they were cancelled, 0 both", total, answered.Load(), silent.Load())
	})
}
