// Package entry makes the entries of the traffic record: the subject of a call,
// its outcome, where its time went, and what was translated.
package entry

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/usage"
)

// A Keeper passes calls on to the parts that record them.
type Keeper struct {
	Traffic *traffic.Recorder          // nil records nothing
	Observe func(*traffic.Observation) // nil observes nothing
	Usage   *usage.Book                // nil counts nothing

	denied sync.Map // servers for which Denied has returned true
}

// Watched reports whether calls are recorded.
func (k *Keeper) Watched() bool { return k.Detailed() || k.Usage.On() }

// Detailed reports whether the calls to servers are recorded too.
func (k *Keeper) Detailed() bool { return k.Traffic.Enabled() || k.Observe != nil }

// End records the outcome of a call.
func (k *Keeper) End(id uint64, span *traffic.Span, c *traffic.Call, o *traffic.Outcome, params, body []byte) {
	k.Traffic.End(id, o, body)
	k.count(c, o, int64(len(body)))
	if k.Observe == nil {
		return
	}
	seen := traffic.Observation{Call: *c, Span: *span, Request: params, Yes: o.Yes, Forward: o.Forward, Script: o.Script}
	seen.Name = strings.Clone(c.Name)
	seen.Status, seen.Code, seen.Reason, seen.Total, seen.ResSize = o.Status, o.Code, o.Reason, o.Total, int64(len(body))
	if len(o.Notes) > 0 {
		seen.Notes = slices.Concat(c.Notes, o.Notes)
	}
	if o.Server != "" {
		seen.Server, seen.Item = o.Server, o.Item
	}
	k.Observe(&seen)
}

// count counts a client's call in the usage of the day. Calls from the console
// are left out, because the console is for trying things.
func (k *Keeper) count(c *traffic.Call, o *traffic.Outcome, got int64) {
	if c.Hop != traffic.HopClient || c.Door == traffic.DoorConsole || !k.Usage.On() {
		return
	}
	key := usage.Key{Principal: c.Principal, Client: c.Client, Door: c.Door, Schema: c.Schema, Server: o.Server, Name: o.Item}
	switch {
	case c.Method == mcp.MethodToolsCall && o.Item != "":
		key.Kind = usage.Tool
	case c.Method == mcp.MethodPromptsGet && o.Server != "":
		key.Kind = usage.Prompt
	case c.Method == mcp.MethodResourcesRead && o.Server != "":
		key.Kind, key.Name = usage.Resource, "" // a URI is as private as an argument
	case c.Method == mcp.MethodToolsList && o.Status == traffic.StatusOK:
		key.Kind, key.Server = usage.List, c.Server
	default:
		return
	}
	sent := c.ReqSize
	if c.Door == traffic.DoorRun || c.Door == traffic.DoorScript {
		sent, got = 0, 0 // the model sees only what the script returns
	}
	k.Usage.Count(key, o.Status, c.Start.Add(o.Total), o.Total, sent, got)
}

// A Verdict remembers whether a large result of a server is a tool error,
// because finding out means reading the whole result.
type Verdict struct{ last atomic.Pointer[judged] }

type judged struct {
	result []byte
	failed bool
}

// large is the size from which a verdict is remembered.
const large = 32 << 10

// Outcome returns the outcome of the call to a server, and the body of the
// response.
func (v *Verdict) Outcome(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	o, body := Outcome(ctx, resp, err)
	if err == nil && resp.Err == nil && len(body) >= large {
		v.last.Store(&judged{body, o.Status == traffic.StatusToolError})
	}
	return o, body
}

// OfRequest returns the outcome of the client's request that the call was made for.
// In most cases its result is the unchanged result of the server.
func (v *Verdict) OfRequest(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	j := v.last.Load()
	if j == nil || err != nil || resp.Err != nil || len(resp.Result) != len(j.result) || &resp.Result[0] != &j.result[0] {
		return Outcome(ctx, resp, err)
	}
	if j.failed {
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	}
	return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
}

// Outcome returns the outcome of a request, and the body of the response.
func Outcome(ctx context.Context, resp *jsonrpc.Response, err error) (traffic.Outcome, []byte) {
	switch {
	case err != nil:
		return failure(ctx, err)
	case resp.Err != nil:
		return refusal(resp.Err)
	case mcp.IsToolError(resp.Result):
		return traffic.Outcome{Status: traffic.StatusToolError}, resp.Result
	default:
		return traffic.Outcome{Status: traffic.StatusOK}, resp.Result
	}
}

func failure(ctx context.Context, err error) (traffic.Outcome, []byte) {
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return refusal(wire)
	}
	if ctx.Err() != nil {
		return traffic.Outcome{Status: traffic.StatusCancelled}, nil
	}
	return traffic.Outcome{Status: traffic.StatusError, Code: jsonrpc.CodeInternal}, []byte(err.Error())
}

func refusal(e *jsonrpc.Error) (traffic.Outcome, []byte) {
	return traffic.Outcome{Status: traffic.StatusError, Code: e.Code, Reason: reasonOf(e)}, jsonrpc.AppendError(nil, e)
}

// reasonOf returns the reason of an error of the gateway; empty for an error of
// a server.
func reasonOf(e *jsonrpc.Error) string {
	if e.Raw != nil || e.Code != jsonrpc.CodeInternal {
		return ""
	}
	reason, _ := jsonrpc.GetString(e.Data, "reason")
	return reason
}

// Split divides the time of a call to a server. Until a transport takes the
// call, it waits in the gateway: for its turn, or for the server to start.
func Split(o *traffic.Outcome, start time.Time, trip *jsonrpc.Trip) {
	o.Gateway = o.Total
	if left := trip.Left(); !left.IsZero() {
		o.Gateway = min(max(left.Sub(start), 0), o.Total)
	}
	o.Transport = min(trip.Carried(), o.Total-o.Gateway)
	o.ServerTime = o.Total - o.Gateway - o.Transport
}

// Subject returns the tool, prompt or resource of a request. The result may
// point into params: a caller that keeps it must copy it.
func Subject(params []byte) string {
	if text, ok := leadingName(params); ok {
		return text
	}
	for _, path := range subjects {
		if text, ok := jsonrpc.GetString(params, path...); ok {
			return text
		}
	}
	return ""
}

// subjects are the parameters in which the methods of the protocol name their
// subject.
var subjects = [...][]string{{"name"}, {"uri"}, {"taskId"}, {"ref", "name"}, {"ref", "uri"}}

// leadingName returns the name if it comes first and has no escapes, as in
// nearly all calls of tools.
func leadingName(params []byte) (string, bool) {
	const start = `{"name":"`
	if len(params) <= len(start) || string(params[:len(start)]) != start {
		return "", false
	}
	text := params[len(start):]
	n := bytes.IndexByte(text, '"')
	if n <= 0 || bytes.IndexByte(text[:n], '\\') >= 0 {
		return "", false
	}
	return unsafe.String(&text[0], n), true
}
