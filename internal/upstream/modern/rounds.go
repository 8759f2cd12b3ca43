package modern

import (
	"context"
	"fmt"
	"sync"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/backoff"
)

// maxRounds limits how often a modern server may answer one call with questions.
const maxRounds = 32

// maxSheds limits how often a call is sent again because the server is busy.
const maxSheds = 3

// Rounds passes the questions of a modern server on to a client, one round for
// each input_required result of a call.
type Rounds struct {
	Server string
	// Ask asks the client a question.
	Ask func(ctx context.Context, req *jsonrpc.Request) (*jsonrpc.Response, error)
	// Send sends the call again with other params.
	Send func(ctx context.Context, params []byte) (*jsonrpc.Response, error)
}

// Run repeats the call until the server returns a final answer. The questions of
// each input_required result become ordinary requests on the stream of the call,
// and the call is sent again with the answers. resp is the first answer.
func (r *Rounds) Run(ctx context.Context, params []byte, resp *jsonrpc.Response) (*jsonrpc.Response, error) {
	sheds := 0
	for range maxRounds {
		if resp.Err != nil {
			return resp, nil
		}
		switch kind, _ := jsonrpc.GetString(resp.Result, "resultType"); kind {
		case "input_required":
		case "", "complete", "task":
			return resp, nil
		default:
			resp.Release()
			return nil, i18n.Errorf("%w: resultType is %.100q", "%w：resultType 为 %.100q", jsonrpc.ErrBadAnswer, kind)
		}
		if jsonrpc.Get(resp.Result, "inputRequests") == nil {
			// The server sheds load: it wants the same call again later.
			if sheds++; sheds > maxSheds {
				resp.Release()
				return nil, mcp.Failure(mcp.Overloaded, r.Server, fmt.Sprintf("server %q was busy %d times in a row", r.Server, sheds))
			}
			if err := backoff.Wait(ctx, backoff.Spread(backoff.Base<<(sheds-1))); err != nil {
				resp.Release()
				return nil, err
			}
		}
		answers, wireErr, err := r.collect(ctx, resp.Result)
		if err != nil || wireErr != nil {
			resp.Release()
			return &jsonrpc.Response{Err: wireErr}, err
		}
		again := params
		if answers != nil {
			again = jsonrpc.Set(again, answers, "inputResponses")
		}
		if state := jsonrpc.Get(resp.Result, "requestState"); state != nil {
			again = jsonrpc.Set(again, state, "requestState")
		}
		resp.Release()
		resp, err = r.Send(ctx, again)
		if err != nil {
			return nil, err
		}
	}
	resp.Release()
	return &jsonrpc.Response{Err: mcp.Failure(mcp.UpstreamProtocol, r.Server,
		fmt.Sprintf("the server asked more than %d rounds of questions for one call", maxRounds))}, nil
}

// collect asks the client all questions of one round concurrently.
func (r *Rounds) collect(ctx context.Context, result []byte) (answers []byte, refused *jsonrpc.Error, err error) {
	type outcome struct {
		key  string
		resp *jsonrpc.Response
		err  error
	}
	questions := jsonrpc.Get(result, "inputRequests")
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		outs []outcome
	)
	for key, q := range jsonrpc.Members(questions) {
		method, _ := jsonrpc.GetString(q, "method")
		req := &jsonrpc.Request{Method: method, Params: jsonrpc.Get(q, "params")}
		wg.Go(func() {
			resp, err := r.Ask(ctx, req)
			mu.Lock()
			outs = append(outs, outcome{key, resp, err})
			mu.Unlock()
		})
	}
	wg.Wait()
	if questions == nil {
		return nil, nil, nil
	}
	answers = []byte(`{}`)
	for _, o := range outs {
		switch {
		case o.err != nil:
			return nil, nil, o.err
		case o.resp.Err != nil:
			return nil, o.resp.Err, nil
		}
		answers = jsonrpc.Set(answers, o.resp.Result, o.key)
	}
	return answers, nil, nil
}
