package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/script"
)

// A running is a script that runs. It handles the requests of the script. The
// script is not trusted: its requests are counted and bounded, and the gateway
// decides about them as about a client's.
type running struct {
	env     *Env
	compact compact
	limits  script.Limits
	slots   chan struct{} // the running calls
	began   time.Time
	reading sync.Mutex // held while a whole kept result is in memory

	mu    sync.Mutex
	asked int
	calls []*innerCall
	inner catalog.Cost // the cost of the results of the calls
	log   strings.Builder
}

// An innerCall is a call of a script.
type innerCall struct {
	name  string
	state callState
}

type callState uint8

const (
	callRuns callState = iota
	callDone
	callFailed
	callUnknown // it may have run
)

// HandleNotification receives a line of the log.
func (r *running) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	text, ok := jsonrpc.GetString(n.Params, "text")
	if n.Method != script.MethodLog || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.WriteString(clipText(text, r.limits.Log/2-int64(r.log.Len())))
}

// Handle answers a request of the script with a value, or with an error that
// the script can catch.
func (r *running) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	leave, err := r.enter(ctx, req.Method)
	var value []byte
	if err == nil {
		value, err = r.handle(ctx, req)
	}
	if err != nil {
		leave()
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", err.Message).WithData(err)
	}
	result := []byte(`{}`)
	if len(value) > 0 {
		result = append(append([]byte(`{"value":`), value...), '}')
	}
	return jsonrpc.NewResponse(result, leave), nil
}

// enter counts a request of the script. A call waits for a free slot and holds
// it until its response is written, so that results do not accumulate if the
// script does not read them.
func (r *running) enter(ctx context.Context, method string) (leave func(), err *thrown) {
	if err := r.count(); err != nil {
		return func() {}, err
	}
	switch method {
	case script.MethodCall, script.MethodRaw, script.MethodRead, script.MethodPrompt, script.MethodKept, script.MethodKeptSlice:
	default:
		return func() {}, nil
	}
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots }, nil
	case <-ctx.Done():
		return func() {}, &thrown{Name: callError, Reason: string(mcp.Cancelled), Message: "the script was ended before this call ran"}
	}
}

func (r *running) handle(ctx context.Context, req *jsonrpc.Request) ([]byte, *thrown) {
	switch req.Method {
	case script.MethodCall, script.MethodRaw:
		return r.callTool(ctx, req)
	case script.MethodInspect:
		return r.compact.forScript(ctx, r.env, req.Params)
	case script.MethodRead:
		uri, _ := jsonrpc.GetString(req.Params, "uri")
		return r.through(ctx, "resources.read", func() (*jsonrpc.Response, error) { return r.env.Read(ctx, uri) })
	case script.MethodPrompt:
		server, _ := jsonrpc.GetString(req.Params, "server")
		name, _ := jsonrpc.GetString(req.Params, "name")
		return r.through(ctx, server+"."+name, func() (*jsonrpc.Response, error) {
			return r.env.Prompt(ctx, server, name, jsonrpc.Get(req.Params, "arguments"))
		})
	case script.MethodKept, script.MethodKeptSlice:
		return r.kept(ctx, req)
	case script.MethodAsk:
		return r.ask(ctx, req.Params)
	}
	return nil, &thrown{Name: callError, Message: "a script cannot ask for this"}
}

// count refuses a request above the maximum number of calls.
func (r *running) count() *thrown {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked++; r.asked > r.limits.Calls {
		return &thrown{Name: callError, Reason: "limit", Message: fmt.Sprintf("call %d: a script may make %d calls", r.asked, r.limits.Calls)}
	}
	return nil
}

// The errors that a script can catch.
const (
	toolError = "ToolError"
	callError = "CallError"
	declined  = "Declined"
)

// A thrown is an error that the script can catch.
type thrown struct {
	Name    string          `json:"name"`
	Message string          `json:"message"`
	Server  string          `json:"server,omitempty"`
	Tool    string          `json:"tool,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Retry   bool            `json:"retry,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

// through sends a request that is not a tool call.
func (r *running) through(ctx context.Context, name string, send func() (*jsonrpc.Response, error)) ([]byte, *thrown) {
	call := r.begin(name)
	resp, bad := send()
	switch {
	case bad != nil:
		r.end(ctx, call, stateOf(bad), nil)
		return nil, refusedBy(bad)
	case resp.Err != nil:
		r.end(ctx, call, callFailed, nil)
		return nil, &thrown{Name: callError, Message: resp.Err.Message}
	}
	r.end(ctx, call, callDone, resp.Result)
	return r.fitting(resp.Result)
}

// begin records the start of a call.
func (r *running) begin(name string) *innerCall {
	call := &innerCall{name: name}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
	return call
}

// end records the outcome of a call and reports progress to the client.
func (r *running) end(ctx context.Context, call *innerCall, state callState, result []byte) {
	cost := catalog.CostOf(result)
	r.mu.Lock()
	call.state = state
	r.inner.Bytes += cost.Bytes
	r.inner.Tokens += cost.Tokens
	r.mu.Unlock()
	r.progress(ctx, call.name)
}

// progress reports the progress of the script to the client.
func (r *running) progress(ctx context.Context, name string) {
	if r.env.Progress == nil {
		return
	}
	r.mu.Lock()
	done, failed, running := 0, 0, 0
	for _, c := range r.calls {
		switch c.state {
		case callRuns:
			running++
		case callDone:
			done++
		default:
			failed++
		}
	}
	r.mu.Unlock()
	text := fmt.Sprintf("%s: %d done, ", name, done)
	if failed > 0 {
		text += fmt.Sprintf("%d failed, ", failed)
	}
	r.env.Progress(ctx, fmt.Sprintf("%s%d running", text, running))
}

// stateOf returns the state of a failed call: it failed, or it may have run.
func stateOf(err error) callState {
	if wire := wireOf(err); wire != nil {
		reason, _ := jsonrpc.GetString(wire.Data, "reason")
		switch mcp.Reason(reason) {
		case mcp.UpstreamClosed, mcp.UpstreamTimeout, mcp.Cancelled, mcp.ResponseTooLarge:
			return callUnknown
		}
		return callFailed
	}
	return callUnknown
}

// refusedBy converts an error of the gateway to an error for the script.
func refusedBy(err error) *thrown {
	t := &thrown{Name: callError, Message: messageOf(err)}
	if wire := wireOf(err); wire != nil {
		t.Reason, _ = jsonrpc.GetString(wire.Data, "reason")
		t.Retry = string(jsonrpc.Get(wire.Data, "retryable")) == "true"
	}
	return t
}

// fitting returns the value, or a handle if the value is too large.
func (r *running) fitting(value []byte) ([]byte, *thrown) {
	if len(value) <= script.MaxValue {
		return value, nil
	}
	text := value
	if s, ok := jsonrpc.Text(value); ok {
		text = []byte(s)
	}
	uri, err := r.env.Keep(text)
	if err != nil {
		return nil, &thrown{Name: callError, Reason: string(mcp.ResponseTooLarge), Message: fmt.Sprintf("the result has %d bytes, and it could not be kept: %v", len(value), err)}
	}
	return script.Handle(uri, len(text), kept.Shape(text)), nil
}

// named names the calls that are in one of the states.
func (r *running) named(states ...callState) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	times := map[string]int{}
	for _, c := range r.calls {
		for _, s := range states {
			if c.state != s {
				continue
			}
			if times[c.name]++; times[c.name] == 1 {
				names = append(names, c.name)
			}
		}
	}
	for i, n := range names {
		if times[n] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", n, times[n])
		}
	}
	return strings.Join(names, ", ")
}
