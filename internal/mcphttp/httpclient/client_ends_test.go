package httpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest/random"
)

var errEnough = errors.New("enough")

// TestClientCallEnds checks that a call can be ended from any side and at any
// point: it ends with the reason, the connection is closed, and a legacy server is
// notified.
func TestClientCallEnds(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
	points := map[string]string{
		"before the answer": "", "in its head": head[:40], "in its body": head + "{", "in another body": strings.Replace(head, "200", "404", 1) + "{",
		"in a stream": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: \n\n",
	}
	ways := map[string]func(c *Client, cancel context.CancelCauseFunc){
		"context": func(_ *Client, cancel context.CancelCauseFunc) { cancel(errEnough) },
		"Close":   func(c *Client, _ context.CancelCauseFunc) { go c.Close(c.server.base.Context()) },
	}
	for point, said := range points {
		for way, end := range ways {
			t.Run(point+"/"+way, func(t *testing.T) {
				told, said1, gone := make(chan string, 1), make(chan struct{}), make(chan struct{})
				c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
					msg := receive(r)
					if msg.Kind != jsonrpc.KindRequest {
						told <- string(msg.Params)
						w.WriteHeader(http.StatusAccepted)
						return
					}
					conn, br := takeOver(w)
					defer conn.Close()
					_, _ = io.WriteString(conn, said)
					close(said1)
					_, _ = br.ReadByte()
					close(gone)
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				go func() {
					<-said1
					end(c, cancel)
				}()
				_, err := c.Call(ctx, &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"name":"x"}`), Back: newHeard()})
				want := errEnough
				if way == "Close" {
					want = jsonrpc.ErrClosed
				}
				if err != want {
					t.Errorf("got %v", err)
				}
				<-gone
				if way != "Close" {
					if params := next(t, told); params != `{"requestId":1,"reason":"enough"}` {
						t.Errorf("the server was told %s", params)
					}
				}
			})
		}
	}
}

func takeOver(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter) {
	conn, br, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	return conn, br
}

// TestClientTransportsAreTheSame checks that the server sees the same request from
// our transport and from net/http.
func TestClientTransportsAreTheSame(t *testing.T) {
	seen := make(chan received, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		if msg.Kind == jsonrpc.KindRequest {
			w.Header().Set(mcp.HeaderSession, "s1")
			answerJSON(w, msg.ID, `{}`)
		}
		seen <- msg
	}))
	defer srv.Close()
	transport := NewClientTransport()
	defer transport.CloseIdleConnections()
	params := func(string, []byte) http.Header {
		return http.Header{"Mcp-Param-A": {"1", " 2"}, "mcp-param-b": {"ü"}, "X-Evil": {"1"}}
	}
	requests := []jsonrpc.Request{
		{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{}}`)},
		{Method: "tools/call", Params: []byte(`{"name":" \u00fc\r\nX: y"}`)},
		{Method: "tools/call", Params: []byte(`{"name":"=?base64?x?="}`)},
		{Method: "resources/read", Params: []byte(`{"uri":"file:///a b"}`)},
		{Method: "tasks/get", Params: []byte(`{"taskId":"7"}`)},
		{Method: " padded "}, {Method: "quoted\"\\"}, {Method: "ü"},
		{Method: "tools/call", Params: []byte(`{"name":"` + strings.Repeat("x", 31<<10) + `"}`)},
	}
	for _, modern := range []bool{false, true} {
		var clients [2]*Client
		for i, rt := range []http.RoundTripper{transport, transport.plain} {
			c := NewClient(ClientOptions{
				URL: srv.URL + "/mcp?x=1", Transport: rt, Modern: modern, ParamHeaders: params,
				Header: http.Header{"X-Own": {"a", "b"}, "Mcp-Param-A": {"0"}, "Host": {"example.com"}, "Authorization": {"Basic x"}, "Connection": {"X-Gone"}, "X-Gone": {"1"}},
			})
			clients[i] = c
			if !modern {
				call(t, c, mcp.MethodInitialize, `{}`)
				<-seen
				c.SetVersion(mcp.V2025_06_18)
			}
		}
		for _, req := range requests {
			var got [2]received
			for i, c := range clients {
				if _, err := c.Call(t.Context(), &req); err != nil {
					t.Fatalf("%q: %v", req.Method, err)
				}
				got[i] = <-seen
			}
			if diff := cmp.Diff(got[1], got[0], cmpopts.IgnoreUnexported(jsonrpc.Message{})); diff != "" {
				t.Errorf("modern %v, %q: net/http (-), ours (+):\n%.2000s", modern, req.Method, diff)
			}
		}
		for _, c := range clients {
			var errs [2]error
			if _, errs[0] = c.Call(t.Context(), &jsonrpc.Request{Method: "a\r\nb"}); modern && errs[0] == nil {
				t.Error("a method with a line break was sent as a header")
			} else if !modern {
				<-seen
			}
		}
	}
}

// TestClientRandom checks that, however calls end, each gets its own response and
// none is sent twice.
func TestClientRandom(t *testing.T) {
	var mu sync.Mutex
	runs := map[string]int{}
	seed := random.Seed(t)
	var requests atomic.Uint64
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		msg := receive(r)
		if msg.Kind != jsonrpc.KindRequest {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		text, _ := jsonrpc.GetString(msg.Params, "text")
		mu.Lock()
		runs[text]++
		mu.Unlock()
		numbers := rand.New(rand.NewPCG(seed, requests.Add(1)))
		switch numbers.IntN(5) {
		case 0:
			send := events(w)
			send(": ")
			send(`data: {"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`, msg.ID, text)
		case 1:
			conn, _ := takeOver(w)
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"[:numbers.IntN(70)])
		default:
			answerJSON(w, msg.ID, `{"text":"`+text+`"}`)
		}
	})
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			numbers := rand.New(rand.NewPCG(seed, uint64(caller)<<32))
			for i := range 50 {
				askRandomly(t, numbers, c, fmt.Sprintf("%d-%d", caller, i))
			}
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	for text, n := range runs {
		if n > 1 {
			t.Errorf("%s ran %d times", text, n)
		}
	}
}

func askRandomly(t *testing.T, numbers *rand.Rand, c *Client, text string) {
	ctx, cancel := context.WithCancelCause(t.Context())
	done, pause, gives := make(chan struct{}), numbers.IntN(100), numbers.IntN(3) == 0
	go func() {
		defer close(done)
		for range pause {
			runtime.Gosched()
		}
		if gives {
			cancel(errEnough)
		}
	}()
	resp, err := c.Call(ctx, &jsonrpc.Request{Method: "tools/call", Params: []byte(`{"text":"` + text + `"}`), Back: newHeard()})
	<-done
	cancel(nil)
	if err != nil {
		return
	}
	if got, _ := jsonrpc.GetString(resp.Result, "text"); got != text {
		t.Errorf("%s has the answer of %s", text, strconv.Quote(got))
	}
	resp.Release()
}
