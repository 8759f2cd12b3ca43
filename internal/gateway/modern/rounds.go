package modern

import (
	"context"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// Rounds runs the requests of one client. If a server asks a question, the
// client gets it as the result, and the call waits for the client's retry.
type Rounds struct {
	Calls *Calls
	Seals Sealer
	// Owner names this process in handles; it is empty without a cluster.
	Owner string
	// Principal is the principal of the requests. Holder is who may continue a call:
	// tokens of one person with different rights are different holders.
	Principal, Holder string
	// Single is set if the client addressed one server, Peer if the client is
	// another replica.
	Single, Peer bool
}

// A Round is one request of Rounds.
type Round struct {
	Client Back
	Offer  mcp.Offer
	// Do sends the request. Questions of the server go to back.
	Do func(ctx context.Context, back jsonrpc.Handler, req *jsonrpc.Request) (*jsonrpc.Response, error)
	// Owner returns the replica that must get the retry of the request; empty
	// for any.
	Owner func(ctx context.Context, req *jsonrpc.Request) string
	// Resumed is called if the request resumes the call of an earlier request.
	Resumed func(began context.Context)
}

// Run answers a request, or a retry of one that waits.
func (r *Rounds) Run(ctx context.Context, round *Round, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if state, ok := jsonrpc.GetString(req.Params, "requestState"); ok {
		handle, ours, err := r.Seals.Open(state, r.Holder, Digest(req))
		if err != nil {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
		if ours && handle.Call != "" {
			return r.resume(ctx, round, handle.Call, req)
		}
		if ours {
			req = handle.Restore(req)
		} else if !r.Single {
			return nil, jsonrpc.InvalidParams("requestState is not valid")
		}
	}
	if round.Offer.Empty() {
		resp, err := round.Do(ctx, round.Client, req)
		return r.finish(ctx, round, req, resp, err)
	}
	// The call may outlive this request, and so must its parameters.
	req = &jsonrpc.Request{Method: req.Method, Params: append([]byte(nil), req.Params...)}
	call := r.Calls.Start(ctx, r.Principal, round.Client, func(ctx context.Context, back jsonrpc.Handler) (*jsonrpc.Response, error) {
		return round.Do(ctx, back, req)
	})
	resp, err := r.wait(ctx, call, req)
	return r.finish(ctx, round, req, resp, err)
}

// wait waits for the end of the call or for questions.
func (r *Rounds) wait(ctx context.Context, call *Call, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	if asks, resp, err := r.Calls.Wait(ctx, call); !asks {
		return resp, err
	}
	return r.inputRequired(call, req)
}

// inputRequired returns the questions to the client and leaves the call waiting.
func (r *Rounds) inputRequired(call *Call, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	inputs, err := r.Calls.Leave(call)
	if err != nil {
		return nil, err
	}
	return InputResult(inputs, r.seal(req, Handle{Call: call.ID, Owner: r.Owner})), nil
}

// resume gives a waiting call the answers of its client.
func (r *Rounds) resume(ctx context.Context, round *Round, id string, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	call, left := r.Calls.Resume(id, round.Client.From, jsonrpc.Get(req.Params, "inputResponses"))
	if call == nil {
		return nil, jsonrpc.InvalidParams("requestState is not valid any more")
	}
	round.Resumed(call.began)
	if left > 0 {
		return r.inputRequired(call, req)
	}
	return r.wait(ctx, call, req)
}

// finish turns a server's response into a modern result. It translates questions
// of other versions and seals the server's state.
func (r *Rounds) finish(ctx context.Context, round *Round, req *jsonrpc.Request, resp *jsonrpc.Response, err error) (*jsonrpc.Response, error) {
	if err == nil && resp.Err != nil && resp.Err.Code == mcp.CodeElicitURL {
		resp, err = r.elicitURL(round, req, resp)
	}
	if err != nil || resp.Err != nil || r.Single && r.Owner == "" {
		return resp, err
	}
	return r.wrapState(ctx, round, req, resp), nil
}

// elicitURL turns the error by which a 2025-11-25 server asks for a visit to a
// URL into a modern question. The retry sends the call again.
func (r *Rounds) elicitURL(round *Round, req *jsonrpc.Request, resp *jsonrpc.Response) (*jsonrpc.Response, error) {
	if !round.Offer.ElicitURL {
		return nil, jsonrpc.Errorf(mcp.CodeCapabilityMissing, "this needs a client that can open a URL").
			WithData(map[string]any{"requiredCapabilities": map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}})
	}
	requests := Elicitations(resp.Err)
	if requests == nil {
		return resp, nil
	}
	return InputResult(requests, r.seal(req, Handle{Bare: true})), nil
}

// seal binds a handle to the client and the request.
func (r *Rounds) seal(req *jsonrpc.Request, h Handle) string {
	if r.Peer && h.Owner == "" {
		h.Owner = r.Owner // so the other replica can tell it from its own
	}
	h.Principal, h.Digest, h.Expires = r.Holder, Digest(req), time.Now().Add(TTL).Unix()
	return r.Seals.Seal(h)
}

// wrapState seals the state of a modern server if several servers share the
// endpoint. The sealed state names the server, the client, and the replica if
// each replica runs a copy of the server.
func (r *Rounds) wrapState(ctx context.Context, round *Round, req *jsonrpc.Request, resp *jsonrpc.Response) *jsonrpc.Response {
	kind, _ := jsonrpc.GetString(resp.Result, "resultType")
	if kind != "input_required" { // results may be large: read them once
		return resp
	}
	state, ok := jsonrpc.GetString(resp.Result, "requestState")
	// A state that the server's replica sealed cannot be opened here.
	owner, ours := r.Seals.Owner(state)
	if !ok || ours && (owner == "" || owner == r.Owner) {
		return resp
	}
	h := Handle{State: state, Owner: round.Owner(ctx, req)}
	if r.Single && h.Owner == "" {
		return resp // the server's own name, and its own state
	}
	resp.Result = jsonrpc.Set(resp.Result, jsonrpc.Quote(r.seal(req, h)), "requestState")
	return resp
}
