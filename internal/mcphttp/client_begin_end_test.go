//go:build linux

package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// numbered hears the number of its call.
type numbered struct {
	*heard
	id atomic.Uint64
}

func (n *numbered) Began(id uint64) { n.id.Store(id) }

var errWhy = errors.New("why")

// TestBeginEnded ends a call that its server does not answer.
func TestBeginEnded(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(c *Client, cancel func(error), id uint64)
		want error
		told bool // the server
	}{
		{"by its context", func(_ *Client, cancel func(error), _ uint64) { cancel(errWhy) }, errWhy, true},
		{"by its number", func(c *Client, _ func(error), id uint64) { c.Abort(id, errWhy) }, errWhy, true},
		{"by Close", func(c *Client, _ func(error), _ uint64) { _ = c.Close(context.Background()) }, jsonrpc.ErrClosed, false},
		{"by two", func(c *Client, cancel func(error), id uint64) {
			c.Abort(id, errWhy)
			cancel(jsonrpc.ErrCancelled)
		}, errWhy, true},
	} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", tc.name, streams), func(t *testing.T) {
				arrived, left, told := make(chan struct{}, 1), make(chan struct{}, 1), make(chan string, 1)
				c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
					switch msg := receive(r); msg.Method {
					case "ping":
						answerJSON(w, msg.ID, `{}`)
					case mcp.NotificationCancelled:
						told <- string(jsonrpc.Get(msg.Params, "requestId"))
						w.WriteHeader(http.StatusAccepted)
					default:
						if streams {
							events(w)(`data: {"jsonrpc":"2.0","method":"notifications/x"}`)
						}
						arrived <- struct{}{}
						<-r.Context().Done()
						left <- struct{}{}
					}
				})
				call(t, c, "ping", "").Release()
				ctx, back := lateContext(t.Context()), &numbered{heard: newHeard()}
				done := start(t, c, ctx, &jsonrpc.Request{Method: "tools/call", Params: []byte(`{}`), Back: back})
				next(t, arrived)
				if streams {
					next(t, back.notes)
				}
				tc.end(c, ctx.End, back.id.Load())
				if e := next(t, done); e.resp != nil || e.err != tc.want {
					t.Errorf("it ended with %v, %v", e.resp, e.err)
				}
				next(t, left) // its connection is closed
				if tc.told && next(t, told) != fmt.Sprint(back.id.Load()) {
					t.Error("the server was told of another call")
				}
				settled(t, c)
			})
		}
	}
}

// A signing transport has a token that it changes when it is refused.
type signing struct {
	*ClientTransport
	token atomic.Int32
}

func (s *signing) Base() http.RoundTripper { return s.ClientTransport }

func (s *signing) Authorization() (string, any, bool) {
	n := s.token.Load()
	return fmt.Sprint("Bearer ", n), n, true
}

func (s *signing) Refused(r *http.Request, used any, resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusForbidden {
		resp.Body.Close()
		return nil, errWhy
	}
	discard(resp.Body)
	s.token.CompareAndSwap(used.(int32), used.(int32)+1)
	return s.RoundTrip(r)
}

func (s *signing) RoundTrip(r *http.Request) (*http.Response, error) {
	value, _, _ := s.Authorization()
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", value)
	return s.ClientTransport.RoundTrip(r)
}

// TestBeginSigned begins calls that are refused for who makes them.
func TestBeginSigned(t *testing.T) {
	var wanted atomic.Value
	wanted.Store("Bearer 0")
	tr := &signing{ClientTransport: NewClientTransport()}
	t.Cleanup(tr.CloseIdleConnections)
	c := serve(t, ClientOptions{Transport: tr}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		switch got := r.Header.Get("Authorization"); {
		case got != wanted.Load():
			http.Error(w, got, http.StatusUnauthorized)
		case msg.Method == "forbidden":
			http.Error(w, got, http.StatusForbidden)
		default:
			answerJSON(w, msg.ID, string(msg.Params))
		}
	})
	call(t, c, "ping", "{}").Release()
	for i, tc := range []struct{ method, wanted, params string }{
		{"tools/call", "Bearer 0", `{"n":1}`},
		{"tools/call", "Bearer 1", `{"n":2}`},
		{"tools/call", "Bearer 1", `{"n":3}`},
		{"forbidden", "Bearer 1", `{}`},
	} {
		wanted.Store(tc.wanted)
		e := next(t, start(t, c, lateContext(t.Context()), &jsonrpc.Request{Method: tc.method, Params: []byte(tc.params)}))
		want := map[bool]ending{true: {err: errWhy}, false: {resp: jsonrpc.NewResponse([]byte(tc.params), nil)}}[tc.method == "forbidden"]
		if got := describe(e); got != describe(want) {
			t.Errorf("call %d: %s", i, got)
		}
	}
	settled(t, c)
}

// TestBeginMany has many calls begin and end in many ways at once. Each ends
// once, with what is its own.
func TestBeginMany(t *testing.T) {
	const callers, each = 8, 150
	ways := []string{"answer", "answer", "answer", "stream", "cut", "refuse", "large", "hang", "race"}
	c := serve(t, ClientOptions{MaxMessage: 64 << 10}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		way, _ := jsonrpc.GetString(msg.Params, "way")
		switch way {
		case "answer", "race":
			answerJSON(w, msg.ID, string(msg.Params))
		case "large":
			answerJSON(w, msg.ID, fmt.Sprintf(`{"token":%s,"x":"%032000d"}`, jsonrpc.Get(msg.Params, "token"), 0))
		case "stream":
			send := events(w)
			send(`data: {"jsonrpc":"2.0","method":"notifications/x"}`)
			send(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`, msg.ID, msg.Params)
		case "cut":
			panic(http.ErrAbortHandler)
		case "refuse":
			http.Error(w, "later", http.StatusServiceUnavailable)
		case "hang":
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	var begun atomic.Int32
	one := func(rng *rand.Rand, token string) {
		way := ways[rng.IntN(len(ways))]
		ctx, done := lateContext(t.Context()), make(endings, 1)
		req := &jsonrpc.Request{Method: "tools/call", Params: fmt.Appendf(nil, `{"way":%q,"token":%q}`, way, token), Back: &numbered{heard: newHeard()}}
		if c.Begin(ctx, new(jsonrpc.Turn), req, done) {
			begun.Add(1)
		} else {
			go func() {
				resp, err := c.Call(ctx, req)
				done.Complete(nil, resp, err)
			}()
		}
		if way == "hang" || way == "race" {
			ctx.End(errWhy)
		}
		e := next(t, done)
		var status *StatusError
		var ok bool
		switch answered := e.err == nil && e.resp.Err == nil; way {
		case "cut":
			ok = e.err != nil && !NotSent(e.err)
		case "refuse":
			ok = errors.As(e.err, &status) && status.Status == http.StatusServiceUnavailable
		case "hang":
			ok = e.err == errWhy
		case "race":
			if ok = e.err == errWhy; ok || !answered {
				break
			}
			fallthrough
		default:
			got, _ := jsonrpc.GetString(e.resp.Result, "token")
			ok = answered && got == token
		}
		if !ok {
			t.Errorf("%s: %s", way, describe(e))
		} else if e.resp != nil {
			e.resp.Release()
		}
	}
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range each {
				one(rng, fmt.Sprint(n, "-", i))
			}
		})
	}
	all.Wait()
	settled(t, c)
	if n := begun.Load(); n < callers*each/10 {
		t.Errorf("only %d of %d calls were begun", n, callers*each)
	}
}
