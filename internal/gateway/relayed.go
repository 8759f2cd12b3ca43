package gateway

import (
	"context"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/upstream"
)

// A relayed call is one that nobody waits for.
type relayed struct {
	back
	party party // whose back is not used
	ctx   context.Context
	u     *upstream.Upstream
	down  jsonrpc.Request // to the server; its params are not ours
	asked []byte          // the params of a modern client
	done  jsonrpc.Completion
	// start and hop are of its entry in the record, and of that of the call to
	// the server.
	start time.Time
	hop   uint64
}

// wait makes the call where somebody may wait for it.
func (r *relayed) wait(t *jsonrpc.Turn) {
	resp, err := r.u.Call(r.ctx, r.party.caller, &r.down)
	r.Complete(t, resp, err)
}

// record begins the two entries of a call: the client's, and that to the server.
func (r *relayed) record(now time.Time, req *jsonrpc.Request, named *naming) {
	s := r.s
	r.start = now
	c := traffic.Call{Hop: traffic.HopClient, Server: s.opening.Server, Start: now}
	s.summarize(&c, req, named.name)
	down := c
	down.Hop, down.Server, down.Notes = traffic.HopServer, r.u.Name(), s.gw.translated.of(r.party, r.u)
	down.Name = named.ref.Name
	r.trace, r.hop = s.gw.opt.Traffic.BeginBoth(&c, req.Params, &down, r.down.Params)
}

// adapt makes the outcome of the call one for the client.
func (r *relayed) adapt(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	s, plain := r.s, err == nil && resp.Err == nil
	if plain {
		s.adapt(r.party.rules, r.u, resp)
	}
	if r.party.rules.Era == mcp.Legacy {
		if plain {
			resp.Result = s.finishTool(resp.Result)
		}
		return resp, err
	}
	resp, err = s.finishRound(r.party, &jsonrpc.Request{Method: r.down.Method, Params: r.asked}, resp, err)
	if err == nil && resp.Err == nil {
		resp.Result = catalog.UplevelResult(mcp.LatestModern, resp.Result, resp.Owned())
	}
	return modernOutcome(resp, err)
}

// recorded is adapt, and ends the two entries: with what the server said, and
// with what the client gets.
func (r *relayed) recorded(resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	rec := r.s.gw.opt.Traffic
	said, raw := outcomeOf(r.ctx, resp, err)
	said.Total = time.Since(r.start)
	got := said
	said.ServerTime = said.Total
	if r.party.rules.Era == mcp.Legacy && (err != nil || resp.Err != nil || understands(r.party.rules, r.u.Protocol())) {
		resp, err = r.adapt(resp, err)
		body := raw
		if err == nil && resp.Err == nil {
			body = resp.Result
		}
		got.Server = r.u.Name()
		rec.EndBoth(r.hop, &said, raw, r.trace, &got, body)
		return resp, err
	}
	rec.End(r.hop, &said, raw) // before it changes in its place
	resp, err = r.adapt(resp, err)
	got, body := outcomeOf(r.ctx, resp, err)
	got.Total, got.Server = said.Total, r.u.Name()
	rec.End(r.trace, &got, body)
	return resp, err
}

// maxInTurn is the size from which an answer is not looked at by the goroutine
// that reads for others.
const maxInTurn = 32 << 10

// Complete makes the answer of the server one for the client.
func (r *relayed) Complete(t *jsonrpc.Turn, resp *jsonrpc.Response, err error) {
	if t != nil && t.Wait == nil && resp != nil && len(resp.Result) > maxInTurn {
		go r.Complete(nil, resp, err)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			r.s.gw.log.Error("panic while answering", "upstream", r.u.Name(), "panic", v)
			r.done.Complete(t, nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error"))
		}
	}()
	if r.hop != 0 {
		resp, err = r.recorded(resp, err)
	} else {
		resp, err = r.adapt(resp, err)
	}
	r.done.Complete(t, resp, err)
}
