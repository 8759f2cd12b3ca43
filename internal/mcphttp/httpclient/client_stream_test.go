package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestClientStreamedAnswer(t *testing.T) {
	answers := make(chan received, 1)
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		if msg.Kind != jsonrpc.KindRequest {
			answers <- msg
			w.WriteHeader(http.StatusAccepted)
			return
		}
		send := events(w)
		for i := range 50 {
			send(`event: message` + "\n" + fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"n","params":{"i":%d}}`, i))
		}
		send(`data: {"jsonrpc":"2.0","id":"q-1","method":"sampling/createMessage","params":{"x":1}}`)
		got := <-answers
		send(`data: not JSON`)
		send(`data: {"jsonrpc":"2.0","id":%s,"result":{"answered":%s}}`, msg.ID, got.Result)
	})
	back := newHeard()
	back.answer = func(_ context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error) {
		return jsonrpc.NewResponse(fmt.Appendf(nil, `{"to":"%s","got":%s}`, req.Method, req.Params), nil), nil
	}
	resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "tools/call", Back: back})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(resp.Result), `{"answered":{"to":"sampling/createMessage","got":{"x":1}}}`; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	resp.Release()
	for i := range 50 {
		if got, want := <-back.notes, fmt.Sprintf(`n{"i":%d}`, i); got != want {
			t.Fatalf("notification %s, want %s", got, want)
		}
	}
}

func TestClientReusesStreamConnection(t *testing.T) {
	remote := map[string]bool{}
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		remote[r.RemoteAddr] = true // calls come one after the other
		msg := receive(r)
		events(w)(`data: {"jsonrpc":"2.0","id":%s,"result":{}}`, msg.ID)
	})
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := c.Call(ctx, &jsonrpc.Request{Method: "x"})
		cancel() // must not cut the stream that has delivered its response
		if err != nil {
			t.Fatal(err)
		}
		resp.Release()
		c.flights.work.Wait()
	}
	if len(remote) != 1 {
		t.Errorf("%d connections for calls one after the other", len(remote))
	}
}

func TestClientServerTakesQuestionBack(t *testing.T) {
	running := make(chan struct{})
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		send := events(w)
		send(`data: {"jsonrpc":"2.0","id":7,"method":"elicitation/create"}`)
		<-running
		send(`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		send(`data: {"jsonrpc":"2.0","id":%s,"result":{}}`, msg.ID)
	})
	cause := make(chan error, 1)
	back := newHeard()
	back.answer = func(ctx context.Context, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
		close(running)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	if _, err := c.Call(t.Context(), &jsonrpc.Request{Method: "tools/call", Back: back}); err != nil {
		t.Fatal(err)
	}
	if got := next(t, cause); !errors.Is(got, jsonrpc.ErrCancelled) {
		t.Errorf("the question ended with %v", got)
	}
}

func TestClientHandlerPanics(t *testing.T) {
	answers := make(chan received, 1)
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		if msg.Kind == jsonrpc.KindError {
			answers <- msg
			w.WriteHeader(http.StatusAccepted)
			return
		}
		send := events(w)
		send(`data: {"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
		send(`data: {"jsonrpc":"2.0","id":%s,"result":%d}`, msg.ID, jsonrpc.ParseError((<-answers).Err).Code)
	})
	back := newHeard()
	back.answer = func(context.Context, *jsonrpc.Request) (*jsonrpc.Response, error) { panic("broken") }
	resp, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x", Back: back})
	if err != nil || string(resp.Result) != "-32603" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestClientCancel(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprintf("modern=%v", modern), func(t *testing.T) {
			started, closed := make(chan string, 1), make(chan struct{}, 1)
			cancelled := make(chan string, 1)
			c := serve(t, ClientOptions{Modern: modern}, func(w http.ResponseWriter, r *http.Request) {
				msg := receive(r)
				if msg.Method == mcp.NotificationCancelled {
					cancelled <- string(jsonrpc.Get(msg.Params, "requestId"))
					w.WriteHeader(http.StatusAccepted)
					return
				}
				started <- string(msg.ID)
				<-r.Context().Done()
				closed <- struct{}{}
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			reason := errors.New("the user gave up")
			go func() { next(t, started); started <- "1"; cancel(reason) }()
			_, err := c.Call(ctx, &jsonrpc.Request{Method: "tools/call"})
			if !errors.Is(err, reason) {
				t.Errorf("error %v, want the cause", err)
			}
			next(t, closed)
			if !modern {
				if got, want := next(t, cancelled), <-started; got != want {
					t.Errorf("cancelled request %s, want %s", got, want)
				}
			}
			must.OK(t, c.Close(t.Context()))
			if modern && len(cancelled) > 0 {
				t.Error("a modern client sent notifications/cancelled")
			}
		})
	}
}

func TestClientCloseEndsCalls(t *testing.T) {
	started := make(chan struct{})
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		receive(r)
		close(started)
		<-r.Context().Done()
	})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x"})
		done <- err
	}()
	next(t, started)
	must.OK(t, c.Close(t.Context()))
	if err := next(t, done); !errors.Is(err, jsonrpc.ErrClosed) {
		t.Errorf("call ended with %v", err)
	}
}

// TestClientResume checks that a stream that ends before its response is continued,
// after the time that the server asked for.
func TestClientResume(t *testing.T) {
	tests := []struct {
		name     string
		retry    string
		at, late time.Duration
	}{
		{"retry", "retry: 2000\n", 2 * time.Second, 2200 * time.Millisecond},
		{"corpus/U24/retry: 1", "retry: 1\n", 500 * time.Millisecond, 550 * time.Millisecond},
		{"no retry", "", 500 * time.Millisecond, 550 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var id []byte
				var cut time.Time
				c, _ := serveMemory(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
					msg := receive(r)
					send := events(w)
					if r.Method == http.MethodPost {
						id, cut = msg.ID, time.Now()
						send("%sid: e-1\ndata:", tt.retry)
						return
					}
					if after := time.Since(cut); after < tt.at || after > tt.late {
						t.Errorf("resumed after %v, want %v", after, tt.at)
					}
					if got := r.Header.Get("Last-Event-ID"); got != "e-1" {
						t.Errorf("Last-Event-ID %q", got)
					}
					send(`data: {"jsonrpc":"2.0","id":%s,"result":"late"}`, id)
				})
				if got := call(t, c, "tools/call", "").Result; string(got) != `"late"` {
					t.Errorf("result %s", got)
				}
			})
		})
	}
}

func TestClientCannotResume(t *testing.T) {
	var gets atomic.Int32
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			gets.Add(1)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		msg := receive(r)
		send := events(w)
		if strings.Contains(string(msg.Params), "id") {
			send("id: 1\ndata:")
		}
	})
	for params, want := range map[string]int32{`{}`: 0, `{"id":1}`: 1} {
		gets.Store(0)
		_, err := c.Call(t.Context(), &jsonrpc.Request{Method: "x", Params: []byte(params)})
		if !errors.Is(err, ErrStreamEnded) || gets.Load() != want {
			t.Errorf("%s: %v after %d GETs, want ErrStreamEnded after %d", params, err, gets.Load(), want)
		}
	}
}

func TestPositionDelay(t *testing.T) {
	var last time.Duration
	for failures := range 40 {
		p := position{}
		d := p.delay(failures)
		if d < retryFloor || d > retryCap*11/10 {
			t.Errorf("after %d failures: %v", failures, d)
		}
		if failures < 6 && d < last {
			t.Errorf("after %d failures: %v, less than before", failures, d)
		}
		last = d
	}
}
