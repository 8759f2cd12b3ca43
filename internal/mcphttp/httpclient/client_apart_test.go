package httpclient

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcptest/random"
)

// uniform receives notifications that repeat one letter.
type uniform struct {
	t      *testing.T
	letter byte
}

func (u uniform) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return &jsonrpc.Response{Result: []byte("{}")}, nil
}

func (u uniform) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	wantUniform(u.t, n.Params, u.letter)
}

// wantUniform checks a text of one repeated letter and its length.
func wantUniform(t *testing.T, obj []byte, letter byte) {
	text, _ := jsonrpc.GetString(obj, "text")
	if size := string(jsonrpc.Get(obj, "size")); size != fmt.Sprint(len(text)) || strings.Count(text, string(letter)) != len(text) {
		t.Errorf("%d bytes where %s were sent, %d of them %c", len(text), size, strings.Count(text, string(letter)), letter)
	}
}

// TestEventsApart checks that concurrent calls, answered with streams of events of
// any size in pieces of any size, never see each other's data, however their
// buffers are reused.
func TestEventsApart(t *testing.T) {
	seed := random.Seed(t)
	c := serve(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		got := receive(r)
		letter, _ := jsonrpc.GetString(got.Params, "letter")
		rnd := rand.New(rand.NewPCG(seed, uint64(len(got.ID))<<32|uint64(got.ID[len(got.ID)-1])))
		body := func() string {
			size := rnd.IntN(1 << (4 + rnd.IntN(17)))
			return fmt.Sprintf(`{"size":%d,"text":"%s"}`, size, strings.Repeat(letter, size))
		}
		var stream bytes.Buffer
		for range rnd.IntN(4) {
			fmt.Fprintf(&stream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":%s}\n\n", body())
		}
		fmt.Fprintf(&stream, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n: the end\n\n", got.ID, body())
		w.Header().Set("Content-Type", "text/event-stream")
		if rnd.IntN(4) == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(stream.Len()))
		}
		for step := 1 << (6 + rnd.IntN(16)); stream.Len() > 0; {
			w.Write(stream.Next(1 + rnd.IntN(step)))
			w.(http.Flusher).Flush()
		}
	})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			letter := byte('a' + n)
			var held []*jsonrpc.Response
			for range 25 {
				req := &jsonrpc.Request{Method: "m", Params: fmt.Appendf(nil, `{"letter":"%c"}`, letter), Back: uniform{t, letter}}
				resp, err := c.Call(t.Context(), req)
				if err != nil || resp.Err != nil {
					t.Errorf("%v, %+v", err, resp)
					return
				}
				if held = append(held, resp); len(held) > 3 {
					wantUniform(t, held[0].Result, letter)
					held[0].Release()
					held = held[1:]
				}
			}
			for _, resp := range held {
				wantUniform(t, resp.Result, letter)
				resp.Release()
			}
		})
	}
	all.Wait()
}
