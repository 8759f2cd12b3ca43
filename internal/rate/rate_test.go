package rate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

func someone(id string) *access.Principal { return &access.Principal{ID: id} }

// refusal returns the reason, the seconds and the message of an error of the
// gateway.
func refusal(t *testing.T, err error) (reason mcp.Reason, after, says string) {
	t.Helper()
	wire := new(jsonrpc.Error)
	if !errors.As(err, &wire) {
		t.Fatalf("not an error of the wire: %v", err)
	}
	return mcp.ReasonOf(wire), string(jsonrpc.Get(wire.Data, "retryAfterSeconds")), wire.Message
}

func TestRates(t *testing.T) {
	slow := &config.Server{Name: "slow", CallsPerMinute: 3, Tools: map[string]config.ToolPolicy{"rare": {CallsPerMinute: 1}}}
	free := &config.Server{Name: "free"}
	ann, bob := someone("key:ann"), someone("key:bob")
	small := *bob
	small.Calls = 2
	for name, tt := range map[string]struct {
		limits config.Limits
		call   Call
		most   int
		after  string // seconds until the next call
		says   string
		others []Call // calls that are still admitted
	}{
		"nothing is set": {call: Call{Who: ann, Server: free, Tool: "x"}, most: 1000},
		"client": {config.Limits{CallsPerMinute: 4}, Call{Who: ann, Schema: "a", Server: free, Tool: "x"}, 4, "15", "this client may make 4 calls a minute",
			[]Call{{Who: bob, Schema: "a", Server: free, Tool: "x"}}},
		"key with a rate of its own": {config.Limits{CallsPerMinute: 4}, Call{Who: &small, Server: free}, 2, "30", "calls:N of its key", []Call{{Who: ann, Server: free}}},
		"server":                     {config.Limits{}, Call{Who: ann, Server: slow, Tool: "x"}, 3, "20", `server "slow" takes 3 calls`, []Call{{Who: ann, Server: free}, {Who: bob, Server: slow, Tool: "y"}, {Who: ann, Schema: "other", Server: slow}}},
		"tool":                       {config.Limits{}, Call{Who: ann, Server: slow, Tool: "rare"}, 1, "60", `tool "rare" of server "slow" takes 1 call a minute`, []Call{{Who: ann, Server: slow, Tool: "x"}}},
	} {
		t.Run("rate/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Rates
				for i := range tt.most {
					if err := r.Admit(&tt.limits, tt.call); err != nil {
						t.Fatalf("call %d: %v", i+1, err)
					}
				}
				if tt.after == "" {
					return
				}
				for range 2 { // a refusal is not counted
					reason, after, says := refusal(t, r.Admit(&tt.limits, tt.call))
					if reason != mcp.RateLimited || after != tt.after || !strings.Contains(says, tt.says) || !strings.Contains(says, "call again in "+tt.after+" s") {
						t.Errorf("%s, after %s: %s", reason, after, says)
					}
				}
				for _, other := range tt.others {
					if err := r.Admit(&tt.limits, other); err != nil {
						t.Errorf("%v: %v", other, err)
					}
				}
				seconds, err := time.ParseDuration(tt.after + "s")
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(seconds - time.Second)
				if r.Admit(&tt.limits, tt.call) == nil {
					t.Error("let through before its time")
				}
				time.Sleep(time.Second)
				if err := r.Admit(&tt.limits, tt.call); err != nil {
					t.Errorf("who comes back when told is refused: %v", err)
				}
			})
		})
	}
}

// A call that one rate refuses is not counted against the others.
func TestRefusedCallsUseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rates
		limits := &config.Limits{CallsPerMinute: 5}
		slow := &config.Server{Name: "slow", CallsPerMinute: 1}
		who := someone("key:a")
		for range 50 {
			_ = r.Admit(limits, Call{Who: who, Server: slow}) // all but the first are refused
		}
		for i := range 4 {
			if err := r.Admit(limits, Call{Who: who, Server: &config.Server{Name: "free"}}); err != nil {
				t.Errorf("call %d: %v", i+1, err)
			}
		}
	})
}

// A reloaded configuration changes the rate, but not the counts.
func TestNewRateKeepsTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rates
		call := Call{Who: someone("key:a"), Server: &config.Server{Name: "s"}}
		for range 10 {
			must.OK(t, r.Admit(&config.Limits{CallsPerMinute: 10}, call))
		}
		if _, after, _ := refusal(t, r.Admit(&config.Limits{CallsPerMinute: 60}, call)); after != "1" {
			t.Errorf("a higher rate should fill faster from where it was, and takes %s s", after)
		}
		if r.Admit(&config.Limits{CallsPerMinute: 2}, call) == nil {
			t.Error("a lower rate forgot what was used")
		}
		time.Sleep(time.Hour)
		for i := range 3 {
			if err := r.Admit(&config.Limits{CallsPerMinute: 2}, call); (err != nil) != (i == 2) {
				t.Errorf("call %d: %v", i+1, err)
			}
		}
	})
}

// Concurrent calls do not exceed the rate.
func TestRatesAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rates
		var let atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				if r.Admit(&config.Limits{CallsPerMinute: 50}, Call{Who: someone("key:a"), Server: &config.Server{Name: "s", CallsPerMinute: 40}}) == nil {
					let.Add(1)
				}
			})
		}
		all.Wait()
		if let.Load() != 40 {
			t.Errorf("%d calls were let through, of 40", let.Load())
		}
	})
}

// The counts of principals that stop calling are dropped.
func TestCountsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rates
		limits := &config.Limits{CallsPerMinute: 2, SameCall: 2}
		for i := range 5_000 {
			c := Call{Who: someone(fmt.Sprint("token:", i)), Server: &config.Server{Name: "s"}, Tool: "t"}
			must.OK(t, r.Admit(limits, c))
			r.Answered(limits, c, text("hi"))
			time.Sleep(200 * time.Millisecond)
		}
		if n := len(r.calls.buckets); n > 2*leastSweep {
			t.Errorf("%d buckets are kept", n)
		}
		if n := len(r.same.rows); n > 2*leastSweep {
			t.Errorf("%d rows are kept", n)
		}
	})
}

func text(s string) *jsonrpc.Response {
	return &jsonrpc.Response{Result: fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}],"_meta":{"at":%d}}`, s, time.Now().UnixNano())}
}

// A step is a call, and its answer if the call is admitted.
type step struct {
	tool, arguments string
	answer          *jsonrpc.Response
	refused         bool
}

func TestSameCall(t *testing.T) {
	same := func(refused bool) step { return step{"t", `{"a":1,"b":[2]}`, text("no"), refused} }
	for name, steps := range map[string][]step{
		"the same answer":                         {same(false), same(false), same(false), same(true), same(true)},
		"written otherwise":                       {same(false), same(false), {"t", `{ "b" : [2], "a":1 }`, text("no"), false}, same(true)},
		"a new answer":                            {same(false), same(false), {"t", `{"a":1,"b":[2]}`, text("yes"), false}, same(false), same(false), same(false), same(true)},
		"other arguments":                         {same(false), same(false), {"t", `{"a":2}`, text("no"), false}, same(false), same(false), same(false), same(true)},
		"another tool":                            {same(false), same(false), same(false), {"u", `{}`, text("no"), false}, same(false)},
		"an error that is the same":               {{"t", ``, &jsonrpc.Response{Err: jsonrpc.InvalidParams("no")}, false}, {"t", `{}`, &jsonrpc.Response{Err: jsonrpc.InvalidParams("no")}, false}, {"t", ``, &jsonrpc.Response{Err: jsonrpc.InvalidParams("no")}, false}, {"t", ``, nil, true}},
		"a question back is no answer":            {{"t", `{}`, &jsonrpc.Response{Result: []byte(`{"resultType":"input_required"}`)}, false}, {"t", `{}`, &jsonrpc.Response{Result: []byte(`{"resultType":"input_required"}`)}, false}, {"t", `{}`, &jsonrpc.Response{Result: []byte(`{"task":{}}`)}, false}, {"t", `{}`, text("done"), false}},
		"the same text beside another isError":    {same(false), same(false), {"t", `{"a":1,"b":[2]}`, &jsonrpc.Response{Result: []byte(`{"content":[{"type":"text","text":"no"}],"isError":true}`)}, false}, same(false)},
		"numbers that differ in their last digit": {{"t", `{"n":10000000000000000001}`, text("no"), false}, {"t", `{"n":10000000000000000002}`, text("no"), false}, {"t", `{"n":10000000000000000003}`, text("no"), false}, {"t", `{"n":10000000000000000004}`, text("no"), false}},
	} {
		t.Run("same/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Rates
				limits := &config.Limits{SameCall: 3}
				server := &config.Server{Name: "s"}
				for i, s := range steps {
					c := Call{Who: someone("key:a"), Server: server, Tool: s.tool, Arguments: []byte(s.arguments)}
					err := r.Progress(limits, c)
					if (err != nil) != s.refused {
						t.Fatalf("step %d: %v", i+1, err)
					}
					if err == nil {
						r.Answered(limits, c, s.answer)
						r.Answered(limits, Call{Who: someone("key:b"), Server: server, Tool: "other"}, text("hi")) // calls of another principal do not interrupt the row
						continue
					}
					if reason, after, says := refusal(t, err); reason != mcp.RepeatedCall || after != "60" ||
						!strings.Contains(says, `you called tool "t" of server "s" with the same arguments 3 times in a row`) || !strings.Contains(says, "again in 60 s") {
						t.Errorf("%s, after %s: %s", reason, after, says)
					}
				}
			})
		})
	}
}

func TestSameCallIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Rates
		limits := &config.Limits{SameCall: 1}
		c := Call{Who: someone("key:a"), Server: &config.Server{Name: "s"}, Tool: "t"}
		r.Answered(limits, c, text("no"))
		if r.Progress(limits, c) == nil {
			t.Error("let through at once")
		}
		if r.Progress(&config.Limits{}, c) != nil {
			t.Error("refused although nothing says so")
		}
		time.Sleep(pause)
		if err := r.Progress(limits, c); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

func BenchmarkAdmit(b *testing.B) {
	var r Rates
	c := Call{Who: someone("key:a"), Server: &config.Server{Name: "s", CallsPerMinute: 1_000_000}, Tool: "t"}
	for name, limits := range map[string]*config.Limits{"off": {}, "two rates": {CallsPerMinute: 1_000_000}} {
		call := c
		if name == "off" {
			call.Server = &config.Server{Name: "s"}
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = r.Admit(limits, call)
			}
		})
	}
}

// TestSessions checks that the sessions at other replicas are known soon, and for
// as long as those tell.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := NewSessions(), NewSessions()
		ctx, stop := context.WithCancel(t.Context())
		go a.Share(ctx, func(of map[string]int) { b.Hear(Held{"a", of}) })
		is := func(want int) {
			t.Helper()
			synctest.Wait()
			if n := b.Elsewhere("key:ann"); n != want {
				t.Errorf("%d sessions, want %d", n, want)
			}
		}
		is(0)
		a.Count("key:ann", 2)
		a.Count("key:bob", 5)
		time.Sleep(2 * shareEvery)
		is(2)
		time.Sleep(2 * heldFor)
		is(2)
		a.Count("key:ann", 0)
		time.Sleep(2 * shareEvery)
		is(0)
		a.Count("key:ann", 1)
		time.Sleep(2 * shareEvery)
		is(1)
		stop()
		time.Sleep(heldFor + time.Second)
		is(0)
	})
}

// TestShared checks that a rate holds for several replicas together, after they
// have told each other.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b Rates
		a.Share(b.Spend)
		b.Share(a.Spend)
		limits := &config.Limits{CallsPerMinute: 60}
		call := Call{Who: someone("key:ann"), Server: &config.Server{Name: "free"}}
		admitted := func(r *Rates) (n int) {
			for r.Admit(limits, call) == nil {
				n++
			}
			return n
		}
		for range 20 {
			must.OK(t, a.Admit(limits, call))
		}
		time.Sleep(2 * shareEvery)
		synctest.Wait()
		if n := admitted(&b); n != 40 {
			t.Errorf("b admitted %d calls after 20 at a", n)
		}
		time.Sleep(2 * shareEvery)
		synctest.Wait()
		if n := admitted(&a); n > 1 {
			t.Errorf("a admitted %d calls after 60 at both", n)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := admitted(&a); n < 28 || n > 31 {
			t.Errorf("a admitted %d calls in half a minute", n)
		}
	})
}
