package modern

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// TestQuestionsOfOneRound: a server that asks several things at once is given
// time after each of them, and no more than a moment altogether.
func TestQuestionsOfOneRound(t *testing.T) {
	for name, test := range map[string]struct {
		every time.Duration // between two questions
		count int
		want  func(asked int) bool
	}{
		"several in a row":      {grace * 2 / 3, 4, func(asked int) bool { return asked == 4 }},
		"one after a long time": {grace * 2, 2, func(asked int) bool { return asked == 1 }},
		"without an end":        {grace * 2 / 3, 100, func(asked int) bool { return asked > 4 && asked < 50 }},
	} {
		t.Run("true/3 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := Calls{TTL: TTL}
				call := calls.Start(t.Context(), "key:ann", Back{}, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
					for range test.count {
						go back.Handle(ctx, nil, &jsonrpc.Request{Method: "roots/list"})
						time.Sleep(test.every)
					}
					<-ctx.Done()
					return nil, ctx.Err()
				})
				asks, _, err := calls.Wait(t.Context(), call)
				if !asks || err != nil {
					t.Fatal(asks, err)
				}
				inputs, err := calls.Leave(call)
				if asked := strings.Count(string(inputs), "roots/list"); err != nil || !test.want(asked) {
					t.Errorf("the first round has %d questions, %v", asked, err)
				}
				calls.Close()
			})
		})
	}
}

// TestRoundWithoutQuestions: a call whose questions have all been answered
// ends, however many there were and however long it takes then.
func TestRoundWithoutQuestions(t *testing.T) {
	t.Run("true/3 two questions, then work", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			calls := Calls{TTL: TTL}
			call := calls.Start(t.Context(), "key:ann", Back{}, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
				var wg sync.WaitGroup
				for range 2 {
					wg.Go(func() { back.Handle(ctx, nil, &jsonrpc.Request{Method: "roots/list"}) })
					time.Sleep(grace / 3)
				}
				wg.Wait()
				time.Sleep(time.Second)
				return &jsonrpc.Response{Result: []byte(`{}`)}, nil
			})
			if asks, _, err := calls.Wait(t.Context(), call); !asks || err != nil {
				t.Fatal(asks, err)
			}
			if _, err := calls.Leave(call); err != nil {
				t.Fatal(err)
			}
			if _, left := calls.Resume(call.ID, nil, []byte(`{"in1":{"roots":[]},"in2":{"roots":[]}}`)); left != 0 {
				t.Fatal(left)
			}
			if asks, resp, err := calls.Wait(t.Context(), call); asks || err != nil || resp == nil {
				t.Error("the client is asked nothing once more:", asks, err)
			}
		})
	})
}

// TestCallsEndWithTheKey checks that the waiting calls of one principal end, and
// those of others wait on.
func TestCallsEndWithTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := Calls{TTL: TTL}
		var ended []string
		for _, who := range []string{"key:ann", "key:bob"} {
			call := calls.Start(t.Context(), who, Back{}, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
				go back.Handle(ctx, nil, &jsonrpc.Request{Method: "roots/list"})
				<-ctx.Done()
				ended = append(ended, who)
				return nil, ctx.Err()
			})
			if asks, _, err := calls.Wait(t.Context(), call); !asks || err != nil {
				t.Fatal(asks, err)
			}
			if _, err := calls.Leave(call); err != nil {
				t.Fatal(err)
			}
		}
		calls.End("key:ann", ErrExpired)
		synctest.Wait()
		if len(ended) != 1 || ended[0] != "key:ann" {
			t.Errorf("ended: %v", ended)
		}
		calls.Close()
	})
}
