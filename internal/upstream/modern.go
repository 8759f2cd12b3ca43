package upstream

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream/backoff"
)

// withMeta adds what every request to a modern server carries: the version,
// who asks, what it can be asked, what it wants to hear.
func (l *link) withMeta(params []byte, c *Caller) []byte {
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	rules := mcp.Rules(mcp.LatestModern)
	offer := c.Offer
	if c.Era == mcp.Legacy && c.Version != "" {
		offer = offer.For(mcp.Rules(c.Version))
	}
	info := c.Info
	if len(info) == 0 {
		info = l.up.opt.Info
	}
	meta := jsonrpc.Get(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		meta = []byte(`{}`)
	}
	meta = jsonrpc.Set(meta, jsonrpc.Quote(mcp.LatestModern), mcp.MetaVersion)
	meta = jsonrpc.Set(meta, offer.JSON(rules, false), mcp.MetaCapabilities)
	meta = jsonrpc.Set(meta, info, mcp.MetaClientInfo)
	if c.LogLevel != "" {
		meta = jsonrpc.Set(meta, jsonrpc.Quote(c.LogLevel), mcp.MetaLogLevel)
	}
	return jsonrpc.Set(params, meta, "_meta")
}

// withoutMeta removes what a legacy server does not know.
func withoutMeta(params []byte) []byte {
	meta := jsonrpc.Get(params, "_meta")
	if meta == nil {
		return params
	}
	left := 0
	for key := range jsonrpc.Members(meta) {
		if !mcp.IsCallerMeta(key) {
			left++
		}
	}
	if left == 0 {
		return jsonrpc.Set(params, nil, "_meta")
	}
	for key := range jsonrpc.Members(meta) {
		if mcp.IsCallerMeta(key) {
			params = jsonrpc.Set(params, nil, "_meta", key)
		}
	}
	return params
}

// maxRounds bounds how often a modern server may answer one call with
// questions.
const maxRounds = 32

// maxSheds bounds how often a call is sent again for a server that is busy.
const maxSheds = 3

// rounds carries the questions of a modern server to a legacy client: each
// input_required result becomes ordinary requests on the stream of the call,
// and the call is sent again with the answers.
func (l *link) rounds(ctx context.Context, k *call, method string, params []byte, resp *jsonrpc.Response) (*jsonrpc.Response, error) {
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
			// The server sheds load: it wants the same again, later.
			if sheds++; sheds > maxSheds {
				resp.Release()
				return nil, mcp.Failure(mcp.Overloaded, l.up.name, fmt.Sprintf("server %q asked %d times to be asked later", l.up.name, sheds))
			}
			if err := backoff.Wait(ctx, backoff.Spread(backoff.Base<<(sheds-1))); err != nil {
				return nil, err
			}
		}
		answers, wireErr, err := l.collect(ctx, k, resp.Result)
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
		resp, err = l.send(ctx, &jsonrpc.Request{Method: method, Params: again, Back: k, Trip: k.sent.Trip})
		if err != nil {
			return nil, err
		}
	}
	resp.Release()
	return &jsonrpc.Response{Err: mcp.Failure(mcp.UpstreamProtocol, l.up.name,
		fmt.Sprintf("the server asked more than %d rounds of questions for one call", maxRounds))}, nil
}

// collect asks the client all the questions of one round at once.
func (l *link) collect(ctx context.Context, k *call, result []byte) (answers []byte, refused *jsonrpc.Error, err error) {
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
			resp, err := k.Handle(ctx, l.peer, req)
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

// paramHeaders are the arguments that a modern HTTP server wants mirrored as
// headers, by the schema of its tool.
func (l *link) paramHeaders(tool string, arguments []byte) http.Header {
	f := l.slot.features.Load()
	if f == nil {
		return nil
	}
	at := slices.IndexFunc(f.Tools, func(it catalog.Item) bool { return it.Key == tool })
	if at < 0 {
		return nil
	}
	params := catalog.HeaderParams(&f.Tools[at])
	if len(params) == 0 {
		return nil
	}
	header := make(http.Header, len(params))
	for _, p := range params {
		if text, ok := mcp.HeaderText(arguments, p.Path...); ok {
			header.Set(mcp.ParamHeaderPrefix+p.Header, text)
		}
	}
	return header
}
