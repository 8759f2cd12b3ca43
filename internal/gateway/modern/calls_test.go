package modern

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
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

// waiting begins a call of a principal that asks a question and ends with result. It
// returns the call and a channel with the answer to its question.
func waiting(t *testing.T, calls *Calls, who, result string) (*Call, <-chan string) {
	t.Helper()
	answer := make(chan string, 1)
	call := calls.Start(t.Context(), who, Back{}, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
		resp, err := back.Handle(ctx, nil, &jsonrpc.Request{Method: mcp.MethodElicit})
		if err != nil {
			return nil, err
		}
		answer <- string(resp.Result)
		return &jsonrpc.Response{Result: []byte(result)}, nil
	})
	if asks, _, err := calls.Wait(t.Context(), call); !asks || err != nil {
		t.Fatal(asks, err)
	}
	return call, answer
}

// TestWaitingCallsOfOneKey checks that a principal may have its share of the waiting
// calls, and that the question of a call too many ends.
func TestWaitingCallsOfOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := Calls{TTL: TTL, Shares: func(who string) bool { return who != "local" }}
		defer calls.Close()
		leave := func(who string) (*Call, <-chan string, error) {
			call, answer := waiting(t, &calls, who, `{}`)
			_, err := calls.Leave(call)
			return call, answer, err
		}
		var first *Call
		for range maxWaitingKey {
			call, _, err := leave("key:ann")
			if err != nil {
				t.Fatal(err)
			}
			first = call
		}
		_, answer, err := leave("key:ann")
		var full *jsonrpc.Error
		if !errors.As(err, &full) || mcp.ReasonOf(full) != mcp.Overloaded || !strings.Contains(full.Message, "2500") {
			t.Errorf("one too many: %v", err)
		}
		synctest.Wait()
		select {
		case got := <-answer:
			if got != `{"action":"cancel"}` {
				t.Errorf("the server is told %s", got)
			}
		default:
			t.Error("the question of the refused call stays open")
		}
		for _, who := range []string{"key:bob", "local"} {
			if _, _, err := leave(who); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		}
		if call, _ := calls.Resume(first.ID, nil, []byte(`{"in1":{"action":"decline"}}`)); call == nil {
			t.Fatal("the first call does not wait")
		}
		if _, _, err := leave("key:ann"); err != nil {
			t.Errorf("after an answer: %v", err)
		}
	})
}

// TestUnfetchedResult checks that the result of a call that ended without an answer of
// its client counts until the client fetches it.
func TestUnfetchedResult(t *testing.T) {
	for _, most := range []int{100, 10} {
		t.Run(fmt.Sprint("of at most ", most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counted := 0
				calls := Calls{TTL: TTL, Weigh: func(_ string, n int) (func(), error) {
					if n > most {
						return nil, mcp.Failure(mcp.Overloaded, "", "full")
					}
					counted += n
					return func() { counted -= n }, nil
				}}
				defer calls.Close()
				const result = `{"text":"of a server"}`
				call, _ := waiting(t, &calls, "key:ann", result)
				if _, err := calls.Leave(call); err != nil {
					t.Fatal(err)
				}
				call.questions.Give([]byte(`{"in1":{}}`)) // the server goes on by itself
				synctest.Wait()
				if fits := most > len(result); fits != (counted == len(result)) {
					t.Errorf("%d bytes count", counted)
				}
				if k, _ := calls.Resume(call.ID, nil, nil); k == nil {
					t.Fatal("the call does not wait")
				}
				_, resp, err := calls.Wait(t.Context(), call)
				if fits := most > len(result); fits != (err == nil && string(resp.Result) == result) || counted != 0 {
					t.Errorf("the client gets %v, %v; %d bytes count", resp, err, counted)
				}
			})
		})
	}
}
